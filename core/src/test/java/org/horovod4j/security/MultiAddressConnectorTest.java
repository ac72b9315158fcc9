package org.horovod4j.security;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.horovod4j.security.Handshake.Purpose;
import org.horovod4j.testsupport.FreePort;
import org.junit.jupiter.api.Test;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.nio.channels.ServerSocketChannel;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;

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
        // Longer than DNS allows, so the resolver does not ask the network.
        String host = "x".repeat(64) + ".invalid";
        InetSocketAddress unknown = InetSocketAddress.createUnresolved(host, 1);

        assertThatThrownBy(
                        () -> WITHOUT_HANDSHAKE.connect(List.of(closed, unknown), LIMIT, () -> {}))
                .isInstanceOf(UnreachableException.class)
                .hasMessageContaining(closed + ": Connection refused")
                .hasMessageContaining(host)
                .hasMessageContaining("unknown host name");
    }

    /// As a peer does that is flooded with connections.
    @Test
    void connectionDroppedDuringHandshakeIsTriedAgain() throws Exception {
        Secret secret = Secret.random();
        AtomicInteger connections = new AtomicInteger();
        try (ServerSocketChannel listener = ServerSocketChannel.open()) {
            listener.bind(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0));
            Thread.startVirtualThread(
                    () -> {
                        try {
                            while (connections.incrementAndGet() < 3) {
                                listener.accept().close();
                            }
                            Handshake accepting = new Handshake(secret, Purpose.LINK);
                            var _ = new PendingHandshake(accepting, listener.accept()).advance();
                        } catch (IOException e) {
                            throw new UncheckedIOException(e);
                        }
                    });
            Handshake initiating = new Handshake(secret, Purpose.LINK);
            new MultiAddressConnector(SocketSettings.DEFAULT, initiating::initiate)
                    .connect(
                            List.of((InetSocketAddress) listener.getLocalAddress()),
                            LIMIT,
                            () -> {})
                    .close();
        }
        assertThat(connections).hasValue(3);
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
        return new InetSocketAddress(InetAddress.getLoopbackAddress(), FreePort.choose());
    }
}
