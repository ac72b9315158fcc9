package org.horovod4j.rendezvous;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import static java.nio.charset.StandardCharsets.US_ASCII;

import org.horovod4j.ConfigurationException;
import org.horovod4j.security.Secret;
import org.horovod4j.security.SecureConnection;
import org.horovod4j.testsupport.FreePort;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;

/// A server with several addresses, some of which lead to another service.
@Timeout(60)
class RendezvousConnectorTest {
    private static final Duration LONG = Duration.ofSeconds(30);

    /// Longer than DNS allows, so the resolver does not ask the network.
    private static final String UNKNOWN_HOST = "x".repeat(64) + ".invalid";

    private final Secret secret = Secret.random();

    @Test
    void authenticatedAddressIsUsed() throws Exception {
        try (UnrelatedService unrelatedService = new UnrelatedService();
                RendezvousServer other = server(Secret.random());
                RendezvousServer server = server(secret)) {
            List<InetSocketAddress> addresses =
                    List.of(
                            closedPort(),
                            unrelatedService.address(),
                            other.address(),
                            server.address());
            try (SecureConnection secureConnection =
                    new RendezvousConnector(secret, addresses, LONG, LONG).connect(1)) {
                assertThat(secureConnection.channel().getRemoteAddress())
                        .isEqualTo(server.address());
            }
        }
    }

    @Test
    void wrongServiceAtOneAddressDoesNotStopRetries() throws Exception {
        InetSocketAddress later = closedPort();
        try (ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor();
                UnrelatedService unrelatedService = new UnrelatedService()) {
            RendezvousConnector server =
                    new RendezvousConnector(
                            secret, List.of(unrelatedService.address(), later), LONG, LONG);
            Future<SecureConnection> connecting = threads.submit(() -> server.connect(1));
            unrelatedService.calls.await(); // the second call proves that the connector retried
            try (RendezvousServer _ = RendezvousServer.start(secret, 2, later, LONG, LONG);
                    SecureConnection secureConnection = connecting.get()) {
                assertThat(secureConnection.channel().getRemoteAddress()).isEqualTo(later);
            }
        }
    }

    @Test
    void timeoutErrorListsEveryAddressAndFailure() throws Exception {
        InetSocketAddress closed = closedPort();
        try (UnrelatedService unrelatedService = new UnrelatedService()) {
            List<InetSocketAddress> addresses =
                    List.of(
                            closed,
                            unrelatedService.address(),
                            InetSocketAddress.createUnresolved(UNKNOWN_HOST, 99));
            assertThatThrownBy(
                            () ->
                                    new RendezvousConnector(
                                                    secret, addresses, LONG, Duration.ofMillis(100))
                                            .connect(7))
                    .isInstanceOf(ConfigurationException.class)
                    .hasMessageContaining("joining the job as rank 7")
                    .hasMessageContaining(closed.getPort() + ": Connection refused")
                    .hasMessageContaining(unrelatedService.address().getPort() + ": does not speak")
                    .hasMessageContaining(UNKNOWN_HOST)
                    .hasMessageContaining("unknown host name");
        }
    }

    @Test
    void refusalByAllAddressesFailsImmediately() throws Exception {
        try (RendezvousServer other = server(Secret.random())) {
            RendezvousConnector connector =
                    new RendezvousConnector(
                            secret, List.of(other.address()), LONG, Duration.ofDays(1));
            assertThatThrownBy(() -> connector.connect(1))
                    .isInstanceOf(ConfigurationException.class)
                    .hasMessageContaining("the secret and the encryption of its own job");
        }
    }

    private static RendezvousServer server(Secret secret) {
        return RendezvousServer.start(secret, 2, loopback(0), LONG, LONG);
    }

    private static InetSocketAddress closedPort() throws IOException {
        return loopback(FreePort.choose());
    }

    private static InetSocketAddress loopback(int port) {
        return new InetSocketAddress(InetAddress.ofLiteral("127.0.0.1"), port);
    }

    /// Another service, which greets every client in its own protocol.
    private static final class UnrelatedService implements AutoCloseable {
        final CountDownLatch calls = new CountDownLatch(2);
        private final ServerSocket socket = new ServerSocket(0);

        UnrelatedService() throws IOException {
            Thread.ofPlatform().daemon().start(this::serve);
        }

        InetSocketAddress address() {
            return loopback(socket.getLocalPort());
        }

        private void serve() {
            while (!socket.isClosed()) {
                try (var caller = socket.accept()) {
                    caller.getOutputStream().write("220 mail ready\r\n".getBytes(US_ASCII));
                    calls.countDown();
                    caller.getInputStream().readAllBytes();
                } catch (IOException e) {
                    // the caller or the test is gone
                }
            }
        }

        @Override
        public void close() throws IOException {
            socket.close();
        }
    }
}
