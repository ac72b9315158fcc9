/// The addresses of this machine.
///
/// - May depend on: `org.horovod4j`.
/// - Invariant: an address is a proposal; whether it leads here is found out by dialling it.
@NullMarked
package org.horovod4j.network;

import org.jspecify.annotations.NullMarked;
