/// How the ranks of a job find each other, and learn that one of them is lost.
///
/// Start with [RendezvousServer], to which all ranks connect, and [RendezvousClient], a rank's end
/// of that connection. [RendezvousMessage] lists the messages. [RendezvousGeneration] is what the
/// server knows of one generation. Without a known server address, [RendezvousDiscovery] finds it
/// through a [RendezvousFolder].
///
/// - May depend on: `org.horovod4j`, `org.horovod4j.connection`, `org.horovod4j.file`,
///   `org.horovod4j.frame`, `org.horovod4j.log`, `org.horovod4j.spi`, `org.horovod4j.security`, `org.horovod4j.text`.
/// - Invariant: a silent, slow or hostile client never delays messages to the other clients.
@NullMarked
package org.horovod4j.rendezvous;

import org.jspecify.annotations.NullMarked;
