/// The addresses and the identity of this machine.
///
/// - May depend on: `org.horovod4j`.
/// - Invariant: an address is a proposal. Only connecting to it shows whether it leads here.
@NullMarked
package org.horovod4j.network;

import org.jspecify.annotations.NullMarked;
