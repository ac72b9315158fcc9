/// Links between ranks of any hosts: bytes over TCP.
///
/// Start with [TcpTransport], which listens, and [TcpLinks], which opens the links of one channel,
/// then [TcpLink], which moves the bytes. [Connector] puts the calls through: between it and the
/// other rank's stand [LinkHello], by which a caller says what it wants, and [PendingConnections], where an answered
/// call waits until this rank asks for the link.
///
/// - May depend on: `org.horovod4j`, `org.horovod4j.log`, `org.horovod4j.network`,
///   `org.horovod4j.spi`, `org.horovod4j.transport`, `org.horovod4j.security`.
/// - Invariant: a dialled link is confirmed by the wanted rank, of the same world, channel and
///   epoch, before a byte of data travels.
@NullMarked
package org.horovod4j.transport.tcp;

import org.jspecify.annotations.NullMarked;
