/// Moves bytes between ranks, and knows nothing of what they mean.
///
/// Start with [Topology] (who shares memory with whom), then [LocalGroup] (ranks of one host,
/// through [SharedMemory]) and [PointToPoint] (ranks of different hosts, through a [Link] each). [LinkTransport]
/// keep the links of one process set apart from those of another. [IdleStrategy] is how everybody
/// waits.
///
/// - May depend on: `org.horovod4j`, `org.horovod4j.spi`.
/// - Invariant: every message and every notice carries the stamp of its operation, and nothing that
///   follows a foreign stamp is believed.
@NullMarked
package org.horovod4j.transport;

import org.jspecify.annotations.NullMarked;
