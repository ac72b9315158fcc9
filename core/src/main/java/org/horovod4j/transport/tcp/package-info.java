/// Links between ranks on any hosts, over TCP.
///
/// Start with [TcpTransport], which listens, and [TcpLinks], which opens the links of one channel,
/// then [TcpLink], which moves the bytes. [Connector] establishes connections. The connecting rank
/// sends a [LinkHello] that says which link it opens. The accepting rank keeps the connection in
/// [PendingConnections] until it needs the link.
///
/// - May depend on: `org.horovod4j`, `org.horovod4j.log`, `org.horovod4j.network`,
///   `org.horovod4j.spi`, `org.horovod4j.transport`, `org.horovod4j.security`.
/// - Invariant: no data is sent over a link before the peer has confirmed its rank, world, channel
///   and epoch.
@NullMarked
package org.horovod4j.transport.tcp;

import org.jspecify.annotations.NullMarked;
