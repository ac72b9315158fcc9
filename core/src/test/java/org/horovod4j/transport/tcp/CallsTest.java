package org.horovod4j.transport.tcp;

import static org.assertj.core.api.Assertions.assertThat;

import org.horovod4j.trust.Line;
import org.junit.jupiter.api.Test;

import java.io.IOException;
import java.nio.channels.SocketChannel;

/// How calls are judged that come before, or after, their time.
final class CallsTest {
    private final Calls calls = new Calls(0);

    @Test
    void callsForUnopenedChannelsAreKeptUpToALimit() throws IOException {
        try (Line any = Line.plain(SocketChannel.open())) {
            for (int channel = 0; channel < Calls.MAX_EARLY; channel++) {
                assertThat(calls.keep(hello(channel, 0, 0), any)).isTrue();
            }
        }
        Hello next = hello(Calls.MAX_EARLY, 0, 0);
        assertThat(calls.judge(next)).isEqualTo(Verdict.CROWDED);
        assertThat(calls.judge(hello(5, 0, 1))).as("a better try").isEqualTo(Verdict.WELCOME);

        calls.open(3);
        assertThat(calls.judge(next)).as("one waits less").isEqualTo(Verdict.WELCOME);
    }

    @Test
    void aNewCallTakesThePlaceOfTheOneBefore() throws IOException {
        calls.open(1);
        Line first = keep(hello(1, 0, 0));
        Line second = keep(hello(1, 1, 1));
        assertThat(first.channel().isOpen()).isFalse();

        assertThat(calls.take(1, 2, 0)).isNull();
        calls.advance(1, 1);
        assertThat(calls.take(1, 2, 1)).containsExactly(second);
        second.close();
    }

    @Test
    void aChannelForgetsItsCallsWhenItCloses() throws IOException {
        Line early = keep(hello(1, 0, 0));
        Line other = keep(hello(2, 0, 1));
        calls.open(1);
        calls.close(1);

        assertThat(early.channel().isOpen()).isFalse();
        assertThat(other.channel().isOpen()).isTrue();
        assertThat(calls.judge(hello(1, 0, 2))).isEqualTo(Verdict.CLOSED);
        calls.advance(1, 4);
        assertThat(calls.judge(hello(1, 9, 3))).isEqualTo(Verdict.CLOSED);
        calls.close();
        assertThat(other.channel().isOpen()).isFalse();
    }

    private Line keep(Hello hello) throws IOException {
        Line stream = Line.plain(SocketChannel.open());
        assertThat(calls.judge(hello)).isEqualTo(Verdict.WELCOME);
        assertThat(calls.keep(hello, stream)).isTrue();
        return stream;
    }

    /// Of rank 2 to rank 0.
    private static Hello hello(int channel, long epoch, long call) {
        return new Hello(1, channel, epoch, 2, 0, call, 0, 1);
    }
}
