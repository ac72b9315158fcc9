package org.horovod4j.transport.tcp;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.horovod4j.security.SecureConnection;
import org.junit.jupiter.api.Test;

import java.io.IOException;
import java.nio.channels.SocketChannel;

/// Which connections are kept or rejected, early and late ones included.
final class PendingConnectionsTest {
    private final PendingConnections pending = new PendingConnections(0);

    @Test
    void linksOfUnopenedChannelsAreKeptUpToALimit() throws IOException {
        try (SecureConnection any = SecureConnection.plain(SocketChannel.open())) {
            for (int channel = 0; channel < PendingConnections.MAX_EARLY; channel++) {
                assertThat(pending.add(hello(channel, 0, 0), any)).isTrue();
            }
        }
        LinkHello next = hello(PendingConnections.MAX_EARLY, 0, 0);
        assertThat(pending.check(next)).isEqualTo(LinkHelloStatus.TOO_MANY_PENDING);
        assertThat(pending.check(hello(5, 0, 1)))
                .as("a new attempt of a known rank")
                .isEqualTo(LinkHelloStatus.ACCEPTED);

        pending.open(3);
        assertThat(pending.check(next))
                .as("after one was removed")
                .isEqualTo(LinkHelloStatus.ACCEPTED);
    }

    @Test
    void newAttemptReplacesThePreviousOne() throws IOException {
        pending.open(1);
        SecureConnection first = add(hello(1, 0, 0));
        SecureConnection second = add(hello(1, 1, 1));
        assertThat(first.channel().isOpen()).isFalse();

        assertThat(pending.take(1, 2, 0)).isNull();
        pending.advance(1, 1);
        assertThat(pending.take(1, 2, 1)).containsExactly(second);
        second.close();
    }

    @Test
    void closingAChannelDropsItsPendingConnections() throws IOException {
        SecureConnection early = add(hello(1, 0, 0));
        SecureConnection other = add(hello(2, 0, 1));
        pending.open(1);
        pending.close(1);

        assertThat(early.channel().isOpen()).isFalse();
        assertThat(other.channel().isOpen()).isTrue();
        assertThat(pending.check(hello(1, 0, 2))).isEqualTo(LinkHelloStatus.CLOSED);
        pending.advance(1, 4);
        assertThat(pending.check(hello(1, 9, 3))).isEqualTo(LinkHelloStatus.CLOSED);
        pending.close();
        assertThat(other.channel().isOpen()).isFalse();
        assertThat(pending.check(hello(2, 0, 4))).isEqualTo(LinkHelloStatus.CLOSED);
        assertThatThrownBy(() -> pending.open(3))
                .isInstanceOf(IllegalStateException.class)
                .hasMessageContaining("has closed its links");
    }

    private SecureConnection add(LinkHello linkHello) throws IOException {
        SecureConnection stream = SecureConnection.plain(SocketChannel.open());
        assertThat(pending.check(linkHello)).isEqualTo(LinkHelloStatus.ACCEPTED);
        assertThat(pending.add(linkHello, stream)).isTrue();
        return stream;
    }

    /// A hello of rank 2 to rank 0.
    private static LinkHello hello(int channel, long epoch, long call) {
        return new LinkHello(1, channel, epoch, 2, 0, call, 0, 1);
    }
}
