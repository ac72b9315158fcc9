/// Moves bytes between ranks. It does not interpret them.
///
/// Start with [Topology] (which ranks share memory), then [LocalGroup] (ranks of one host, through
/// [SharedMemory]) and [PointToPoint] (ranks of different hosts, over one [Link] each). A
/// [LinkTransport] separates the links of different process sets. All waiting goes through an
/// [IdleStrategy], whose sleeps other ranks end: see [SharedParker] and [LinkParker].
///
/// - May depend on: `org.horovod4j`, `org.horovod4j.natives`, `org.horovod4j.spi`.
/// - Invariant: every message and every notice carries the stamp of its collective. Data after a
///   different stamp is not used.
@NullMarked
package org.horovod4j.transport;

import org.jspecify.annotations.NullMarked;
