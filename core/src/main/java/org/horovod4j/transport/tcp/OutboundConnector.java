package org.horovod4j.transport.tcp;

import org.horovod4j.security.DeadlineReader;
import org.horovod4j.security.Handshake;
import org.horovod4j.security.MultiAddressConnector;
import org.horovod4j.security.SecureConnection;
import org.horovod4j.security.SocketSettings;
import org.horovod4j.transport.Liveness;

import java.io.IOException;
import java.net.InetSocketAddress;
import java.nio.channels.SocketChannel;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;

/// Opens all streams of a link to a lower rank.
///
/// The first stream finds, among the peer's addresses, one that works; the others follow it there.
final class OutboundConnector {
    private final Handshake handshake;
    private final SocketSettings settings;
    private final Duration timeout;

    OutboundConnector(Handshake handshake, SocketSettings settings, Duration timeout) {
        this.handshake = handshake;
        this.settings = settings;
        this.timeout = timeout;
    }

    /// Streams that the wanted rank has confirmed, in order and not blocking.
    ///
    /// @throws IOException when the rank cannot be reached, or one of the streams breaks
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
            LinkHello linkHello,
            List<InetSocketAddress> addresses,
            Liveness liveness,
            List<SecureConnection> streams)
            throws IOException {
        MultiAddressConnector multiAddressConnector =
                new MultiAddressConnector(settings, channel -> sendHello(channel, linkHello));
        SecureConnection stream =
                multiAddressConnector.connect(addresses, timeout, liveness::check);
        streams.add(stream); // before anything can fail, so that it is closed then
        stream.output().write(LinkHello.CONFIRMED);
        stream.channel().configureBlocking(false);
        return stream;
    }

    private SecureConnection sendHello(SocketChannel channel, LinkHello linkHello)
            throws IOException {
        SecureConnection secureConnection = handshake.initiate(channel);
        secureConnection.output().write(linkHello.encode());
        DeadlineReader in = new DeadlineReader(secureConnection, timeout);
        LinkHelloStatus linkHelloStatus = LinkHelloStatus.of(in.read(1)[0]);
        if (linkHelloStatus != LinkHelloStatus.ACCEPTED) {
            throw new LinkHelloStatus.RejectedException(linkHelloStatus);
        }
        return secureConnection;
    }
}
