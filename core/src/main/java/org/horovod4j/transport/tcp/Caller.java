package org.horovod4j.transport.tcp;

import org.horovod4j.transport.Liveness;
import org.horovod4j.trust.Dialler;
import org.horovod4j.trust.Handshake;
import org.horovod4j.trust.PromptReader;
import org.horovod4j.trust.SocketSettings;

import java.io.IOException;
import java.net.InetSocketAddress;
import java.nio.channels.SocketChannel;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;

/// Opens all streams of a link to a lower rank.
///
/// The first stream finds, among the peer's addresses, one that works; the others follow it there.
final class Caller {
    private final Handshake handshake;
    private final SocketSettings settings;
    private final Duration timeout;

    Caller(Handshake handshake, SocketSettings settings, Duration timeout) {
        this.handshake = handshake;
        this.settings = settings;
        this.timeout = timeout;
    }

    /// Streams that the wanted rank has confirmed, in order and not blocking.
    ///
    /// @throws IOException when the rank cannot be reached, or one of the streams breaks
    List<SocketChannel> call(Hello first, List<InetSocketAddress> candidates, Liveness liveness)
            throws IOException {
        List<SocketChannel> streams = new ArrayList<>();
        boolean complete = false;
        try {
            List<InetSocketAddress> addresses = candidates;
            for (int i = 0; i < first.streams(); i++) {
                SocketChannel stream = call(first.withStream(i), addresses, liveness, streams);
                addresses = List.of((InetSocketAddress) stream.getRemoteAddress());
            }
            complete = true;
            return streams;
        } finally {
            if (!complete) {
                streams.forEach(TcpLink::closeQuietly);
            }
        }
    }

    private SocketChannel call(
            Hello hello,
            List<InetSocketAddress> addresses,
            Liveness liveness,
            List<SocketChannel> streams)
            throws IOException {
        Dialler dialler = new Dialler(settings, channel -> greet(channel, hello));
        SocketChannel stream = dialler.dial(addresses, timeout, liveness::check);
        streams.add(stream); // before anything can fail, so that it is closed then
        stream.socket().getOutputStream().write(Hello.TAKEN);
        stream.configureBlocking(false);
        return stream;
    }

    private void greet(SocketChannel channel, Hello hello) throws IOException {
        handshake.dial(channel.socket());
        channel.socket().getOutputStream().write(hello.encode());
        PromptReader in = new PromptReader(channel.socket(), timeout);
        Verdict verdict = Verdict.of(in.read(1)[0]);
        if (verdict != Verdict.WELCOME) {
            throw new Verdict.Unwelcome(verdict);
        }
    }
}
