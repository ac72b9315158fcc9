package org.horovod4j.transport.tcp;

import org.horovod4j.transport.Liveness;
import org.horovod4j.trust.Dialler;
import org.horovod4j.trust.Handshake;
import org.horovod4j.trust.Line;
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
    List<Line> call(Hello first, List<InetSocketAddress> candidates, Liveness liveness)
            throws IOException {
        List<Line> streams = new ArrayList<>();
        boolean complete = false;
        try {
            List<InetSocketAddress> addresses = candidates;
            for (int i = 0; i < first.streams(); i++) {
                Line stream = call(first.withStream(i), addresses, liveness, streams);
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

    private Line call(
            Hello hello, List<InetSocketAddress> addresses, Liveness liveness, List<Line> streams)
            throws IOException {
        Dialler dialler = new Dialler(settings, channel -> greet(channel, hello));
        Line stream = dialler.dial(addresses, timeout, liveness::check);
        streams.add(stream); // before anything can fail, so that it is closed then
        stream.output().write(Hello.TAKEN);
        stream.channel().configureBlocking(false);
        return stream;
    }

    private Line greet(SocketChannel channel, Hello hello) throws IOException {
        Line line = handshake.dial(channel);
        line.output().write(hello.encode());
        PromptReader in = new PromptReader(line, timeout);
        Verdict verdict = Verdict.of(in.read(1)[0]);
        if (verdict != Verdict.WELCOME) {
            throw new Verdict.Unwelcome(verdict);
        }
        return line;
    }
}
