package org.horovod4j.trust;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.junit.jupiter.api.Test;

import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.time.Duration;
import java.util.List;

final class DiallerTest {
    private static final Duration LIMIT = Duration.ofSeconds(10);
    private static final Dialler ANYBODY = new Dialler(SocketSettings.DEFAULT, Line::plain);

    @Test
    void passesOverAddressesThatLeadNowhere() throws Exception {
        try (ServerSocket listener = listen()) {
            InetSocketAddress good = address(listener);

            try (Line line = ANYBODY.dial(List.of(closedPort(), good), LIMIT, () -> {})) {
                assertThat(line.channel().getRemoteAddress()).isEqualTo(good);
            }
        }
    }

    @Test
    void passesOverAddressesWhereSomebodyElseAnswers() throws Exception {
        try (ServerSocket stranger = listen();
                ServerSocket wanted = listen()) {
            Dialler picky =
                    new Dialler(
                            SocketSettings.DEFAULT,
                            channel -> {
                                if (!channel.getRemoteAddress().equals(address(wanted))) {
                                    throw new IOException("a stranger");
                                }
                                return Line.plain(channel);
                            });
            try (Line line =
                    picky.dial(List.of(address(stranger), address(wanted)), LIMIT, () -> {})) {
                assertThat(line.channel().getRemoteAddress()).isEqualTo(address(wanted));
            }
        }
    }

    @Test
    void triesTheNextAddressWhileOneHangs() throws Exception {
        try (ServerSocket hanging = listen();
                ServerSocket good = listen()) {
            Dialler patient =
                    new Dialler(
                            SocketSettings.DEFAULT,
                            channel -> {
                                if (channel.getRemoteAddress().equals(address(hanging))) {
                                    new PromptReader(channel.socket(), LIMIT).read(1);
                                }
                                return Line.plain(channel);
                            });
            try (Line line =
                    patient.dial(List.of(address(hanging), address(good)), LIMIT, () -> {})) {
                assertThat(line.channel().getRemoteAddress()).isEqualTo(address(good));
            }
        }
    }

    @Test
    void looksUpNames() throws Exception {
        try (ServerSocket listener = new ServerSocket(0)) {
            InetSocketAddress name =
                    InetSocketAddress.createUnresolved("localhost", listener.getLocalPort());

            ANYBODY.dial(List.of(name), LIMIT, () -> {}).close();
        }
    }

    @Test
    void listsEveryAddressAndItsFailure() throws Exception {
        InetSocketAddress closed = closedPort();
        InetSocketAddress unknown = InetSocketAddress.createUnresolved("no-such-host.invalid", 1);

        assertThatThrownBy(() -> ANYBODY.dial(List.of(closed, unknown), LIMIT, () -> {}))
                .isInstanceOf(UnreachableException.class)
                .hasMessageContaining(closed + ": Connection refused")
                .hasMessageContaining("no-such-host.invalid")
                .hasMessageContaining("unknown host name");
    }

    @Test
    void givesUpWhenTheVigilDoes() throws Exception {
        try (ServerSocket listener = listen()) {
            Dialler endless =
                    new Dialler(
                            SocketSettings.DEFAULT,
                            channel -> {
                                new PromptReader(channel.socket(), LIMIT).read(1);
                                return Line.plain(channel);
                            });

            assertThatThrownBy(
                            () ->
                                    endless.dial(
                                            List.of(address(listener)),
                                            LIMIT,
                                            () -> {
                                                throw new IllegalStateException("the peer is gone");
                                            }))
                    .hasMessage("the peer is gone");
        }
    }

    private static ServerSocket listen() throws IOException {
        return new ServerSocket(0, 10, InetAddress.getLoopbackAddress());
    }

    private static InetSocketAddress address(ServerSocket listener) {
        return (InetSocketAddress) listener.getLocalSocketAddress();
    }

    private static InetSocketAddress closedPort() throws IOException {
        try (ServerSocket listener = listen()) {
            return address(listener);
        }
    }
}
