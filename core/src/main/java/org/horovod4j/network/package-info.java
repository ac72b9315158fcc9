/// The addresses of this machine.
///
/// - May depend on: `org.horovod4j`.
/// - Used by: `org.horovod4j.runtime`, `org.horovod4j.transport.tcp`, the launcher.
/// - Invariant: an address is a proposal; whether it leads here is found out by dialling it.
@NullMarked
package org.horovod4j.network;

import org.jspecify.annotations.NullMarked;
