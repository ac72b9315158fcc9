package org.horovod4j.security;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.junit.jupiter.api.Test;

import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.time.Duration;
import java.util.List;

final class MultiAddressConnectorTest {
    private static final Duration LIMIT = Duration.ofSeconds(10);
    private static final MultiAddressConnector WITHOUT_HANDSHAKE =
            new MultiAddressConnector(SocketSettings.DEFAULT, SecureConnection::plain);

    @Test
    void skipsUnreachableAddresses() throws Exception {
        try (ServerSocket listener = listen()) {
            InetSocketAddress good = address(listener);

            try (SecureConnection secureConnection =
                    WITHOUT_HANDSHAKE.connect(List.of(closedPort(), good), LIMIT, () -> {})) {
                assertThat(secureConnection.channel().getRemoteAddress()).isEqualTo(good);
            }
        }
    }

    @Test
    void skipsAddressesThatFailTheHandshake() throws Exception {
        try (ServerSocket other = listen();
                ServerSocket wanted = listen()) {
            MultiAddressConnector authenticating =
                    new MultiAddressConnector(
                            SocketSettings.DEFAULT,
                            channel -> {
                                if (!channel.getRemoteAddress().equals(address(wanted))) {
                                    throw new IOException("another peer");
                                }
                                return SecureConnection.plain(channel);
                            });
            try (SecureConnection secureConnection =
                    authenticating.connect(
                            List.of(address(other), address(wanted)), LIMIT, () -> {})) {
                assertThat(secureConnection.channel().getRemoteAddress())
                        .isEqualTo(address(wanted));
            }
        }
    }

    @Test
    void triesTheNextAddressWhileOneHangs() throws Exception {
        try (ServerSocket hanging = listen();
                ServerSocket good = listen()) {
            MultiAddressConnector connector =
                    new MultiAddressConnector(
                            SocketSettings.DEFAULT,
                            channel -> {
                                if (channel.getRemoteAddress().equals(address(hanging))) {
                                    new DeadlineReader(channel.socket(), LIMIT).read(1);
                                }
                                return SecureConnection.plain(channel);
                            });
            try (SecureConnection secureConnection =
                    connector.connect(List.of(address(hanging), address(good)), LIMIT, () -> {})) {
                assertThat(secureConnection.channel().getRemoteAddress()).isEqualTo(address(good));
            }
        }
    }

    @Test
    void resolvesNames() throws Exception {
        try (ServerSocket listener = new ServerSocket(0)) {
            InetSocketAddress name =
                    InetSocketAddress.createUnresolved("localhost", listener.getLocalPort());

            WITHOUT_HANDSHAKE.connect(List.of(name), LIMIT, () -> {}).close();
        }
    }

    @Test
    void listsEveryAddressAndItsFailure() throws Exception {
        InetSocketAddress closed = closedPort();
        InetSocketAddress unknown = InetSocketAddress.createUnresolved("no-such-host.invalid", 1);

        assertThatThrownBy(
                        () -> WITHOUT_HANDSHAKE.connect(List.of(closed, unknown), LIMIT, () -> {}))
                .isInstanceOf(UnreachableException.class)
                .hasMessageContaining(closed + ": Connection refused")
                .hasMessageContaining("no-such-host.invalid")
                .hasMessageContaining("unknown host name");
    }

    @Test
    void stopsWhenTheCheckThrows() throws Exception {
        try (ServerSocket listener = listen()) {
            MultiAddressConnector connector =
                    new MultiAddressConnector(
                            SocketSettings.DEFAULT,
                            channel -> {
                                new DeadlineReader(channel.socket(), LIMIT).read(1);
                                return SecureConnection.plain(channel);
                            });

            assertThatThrownBy(
                            () ->
                                    connector.connect(
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
