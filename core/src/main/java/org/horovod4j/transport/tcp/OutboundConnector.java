package org.horovod4j.transport.tcp;

import org.horovod4j.security.DeadlineReader;
import org.horovod4j.security.Handshake;
import org.horovod4j.security.MultiAddressConnector;
import org.horovod4j.security.SecureConnection;
import org.horovod4j.security.SocketSettings;
import org.horovod4j.transport.Clock;
import org.horovod4j.transport.IdleStrategy;
import org.horovod4j.transport.Liveness;

import java.io.IOException;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.SocketChannel;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;

/// Opens all streams of a link to a lower rank.
///
/// The first stream tries the addresses of the peer until one works. The other streams use the same
/// address.
final class OutboundConnector {
    private final Handshake handshake;
    private final SocketSettings settings;
    private final Duration timeout;

    OutboundConnector(Handshake handshake, SocketSettings settings, Duration timeout) {
        this.handshake = handshake;
        this.settings = settings;
        this.timeout = timeout;
    }

    /// Streams that the peer has confirmed. They are in order and non-blocking.
    ///
    /// @throws IOException if the rank cannot be reached or a stream fails
    List<SecureConnection> connect(
            LinkHello first, List<InetSocketAddress> candidates, Liveness liveness)
            throws IOException {
        List<SecureConnection> streams = new ArrayList<>();
        boolean complete = false;
        try {
            List<InetSocketAddress> addresses = candidates;
            for (int i = 0; i < first.streams(); i++) {
                SecureConnection stream =
                        connect(first.withStream(i), addresses, liveness, streams);
                addresses = List.of((InetSocketAddress) stream.channel().getRemoteAddress());
            }
            complete = true;
            return streams;
        } finally {
            if (!complete) {
                streams.forEach(TcpLink::closeQuietly);
            }
        }
    }

    private SecureConnection connect(
            LinkHello hello,
            List<InetSocketAddress> addresses,
            Liveness liveness,
            List<SecureConnection> streams)
            throws IOException {
        MultiAddressConnector connector =
                new MultiAddressConnector(settings, channel -> sendHello(channel, hello));
        SecureConnection stream = connector.connect(addresses, timeout, liveness::check);
        streams.add(stream); // first, so that it is closed if a later call fails
        stream.channel().configureBlocking(false);
        confirm(stream, liveness);
        return stream;
    }

    /// Writes on this thread, which may be one of the program. So the channel does not block: an
    /// interrupt would close a channel that blocks.
    private static void confirm(SecureConnection stream, Liveness liveness) throws IOException {
        IdleStrategy idleStrategy = new IdleStrategy(liveness, Clock.SYSTEM, true);
        ByteBuffer confirmation = ByteBuffer.wrap(new byte[] {LinkHello.CONFIRMED});
        while (stream.write(confirmation) == 0) {
            idleStrategy.idle();
        }
    }

    private SecureConnection sendHello(SocketChannel channel, LinkHello hello) throws IOException {
        SecureConnection connection = handshake.initiate(channel);
        connection.output().write(hello.encode());
        DeadlineReader in = new DeadlineReader(connection, timeout);
        LinkHelloStatus status = LinkHelloStatus.of(in.read(1)[0]);
        if (status != LinkHelloStatus.ACCEPTED) {
            throw new LinkHelloStatus.RejectedException(status);
        }
        return connection;
    }
}
