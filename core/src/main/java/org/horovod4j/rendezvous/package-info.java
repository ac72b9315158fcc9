/// How the ranks of a job find each other, and learn of each other's end.
///
/// Start with [RendezvousServer], to which all ranks dial in, and [RendezvousClient], a rank's end
/// of that line. [RendezvousMessage] lists all that is said on it; [RendezvousGeneration] is what the server knows of one
/// meeting. Where nobody is told the server's address, [RendezvousDiscovery] finds it through a
/// [RendezvousFolder].
///
/// - May depend on: `org.horovod4j`, `org.horovod4j.connection`, `org.horovod4j.frame`,
///   `org.horovod4j.log`, `org.horovod4j.spi`, `org.horovod4j.security`, `org.horovod4j.text`.
/// - Invariant: neither a silent nor a slow nor a hostile client delays what another one hears.
@NullMarked
package org.horovod4j.rendezvous;

import org.jspecify.annotations.NullMarked;
