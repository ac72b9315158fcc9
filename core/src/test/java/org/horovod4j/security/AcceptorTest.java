package org.horovod4j.security;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import static java.nio.charset.StandardCharsets.US_ASCII;

import org.horovod4j.ConfigurationException;
import org.horovod4j.security.Handshake.Purpose;
import org.horovod4j.security.HandshakeException.Reason;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedClass;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

import java.io.EOFException;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.StandardSocketOptions;
import java.nio.channels.SocketChannel;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.stream.Stream;

/// Which connections are accepted and which refused, over real sockets.
@ParameterizedClass(name = "{0}")
@EnumSource(Protection.class)
final class AcceptorTest {
    AcceptorTest(Protection protection) {
        this.secret = Secret.random().withProtection(protection);
        this.acceptor = open(LONG);
    }

    private static final Duration LONG = Duration.ofMinutes(1);
    private static final Duration SHORT = Duration.ofSeconds(5);

    private final Secret secret;
    private final RecordingLogger log = new RecordingLogger();
    private final BlockingQueue<SecureConnection> accepted = new LinkedBlockingQueue<>();
    private final Acceptor acceptor;

    @AfterEach
    void close() throws IOException {
        acceptor.close();
        for (SecureConnection secureConnection : accepted) {
            secureConnection.close();
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"127.0.0.1", "::1"})
    void acceptsMatchingSecret(String host) throws Exception {
        try (Socket socket = connect(host)) {
            SecureConnection secureConnection =
                    new Handshake(secret, Purpose.LINK).initiate(socket.getChannel());
            SecureConnection inside = accepted.take();
            secureConnection.output().write(42);

            assertThat(inside.input().read()).isEqualTo(42);
            assertThat(inside.channel().getOption(StandardSocketOptions.TCP_NODELAY)).isTrue();
            assertThat(inside.channel().getOption(StandardSocketOptions.SO_KEEPALIVE)).isTrue();
        }
        assertThat(log.lines()).isEmpty();
    }

    @Test
    void refusesWrongSecretOnBothEnds() throws Exception {
        assertRefused(
                new Handshake(Secret.random().withProtection(secret.protection()), Purpose.LINK),
                Reason.SECRET);

        awaitOneLine("does not know the job's secret");
        assertStillOpen();
    }

    @Test
    void refusesAnotherPurpose() throws Exception {
        try (Socket socket = connect("127.0.0.1")) {
            assertThatThrownBy(
                            () ->
                                    new Handshake(secret, Purpose.RENDEZVOUS)
                                            .initiate(socket.getChannel()))
                    .isInstanceOf(HandshakeException.class);
        }
        awaitOneLine("a wrong port is configured");
        assertStillOpen();
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "GET / HTTP/1.0\r\n\r\n",
                "\u0016\u0003\u0001\u0002\u0000\u0001\u0000\u0001",
                "SSH-2.0-Scanner"
            })
    void refusesOtherProtocolsAtOnce(String greeting) throws Exception {
        try (Socket socket = connect("127.0.0.1")) {
            socket.getOutputStream().write(greeting.getBytes(US_ASCII));

            awaitOneLine("does not speak our protocol");
            assertThat(log.lines().getFirst()).doesNotContain("Scanner");
        }
        assertStillOpen();
    }

    @Test
    void refusesAnotherVersion() throws Exception {
        try (Socket socket = connect("127.0.0.1")) {
            byte[] hello = Arrays.copyOf("Hvd4J\r\n".getBytes(US_ASCII), 41);
            hello[7] = 9;
            socket.getOutputStream().write(hello);

            awaitOneLine("uses version 9");
        }
        assertStillOpen();
    }

    @Test
    void closesSilentConnectionAtDeadline() throws Exception {
        try (Acceptor impatient = open(SHORT);
                Socket socket = connect("127.0.0.1", impatient)) {
            assertThat(socket.getInputStream().read()).isEqualTo(-1);
            awaitOneLine("did not complete the handshake within 5000 ms");
            assertStillOpen(impatient);
        }
    }

    @Test
    void closesPartialHandshakeAtSameDeadline() throws Exception {
        try (Acceptor impatient = open(SHORT);
                Socket socket = connect("127.0.0.1", impatient)) {
            socket.getOutputStream().write("Hvd4J".getBytes(US_ASCII));

            assertThat(socket.getInputStream().read()).isEqualTo(-1);
            awaitOneLine("did not complete the handshake");
        }
    }

    @Test
    void logsRepeatedRefusalsOnce() throws Exception {
        for (int i = 0; i < 5; i++) {
            connect("127.0.0.1").close();
        }
        awaitOneLine("closed the connection before it completed the handshake");
        assertStillOpen();
        assertThat(log.lines()).hasSize(1);
    }

    @Test
    void validHandshakesPassDuringPendingOnes() throws Exception {
        try (Socket one = connect("127.0.0.1");
                Socket other = connect("127.0.0.1")) {
            assertThat(one.isConnected() && other.isConnected()).isTrue();
            assertStillOpen();
        }
    }

    @Test
    void oldestSilentConnectionIsEvictedAtOnce() throws Exception {
        try (Acceptor patient = open(LONG);
                Flood flood = new Flood(patient)) {
            Socket oldest = flood.open(new byte[0]);
            for (int i = 0; i < Acceptor.MAX_PENDING_PER_ADDRESS; i++) {
                flood.open(new byte[0]);
            }
            assertThat(oldest.getInputStream().read()).isEqualTo(-1);
            awaitOneLine(
                    "was closed before it completed the handshake: 256 handshakes were pending");
        }
    }

    /// Half of the strangers send what anyone can send.
    @Test
    void peerPassesFloodThatNeedsNoThreads() throws Exception {
        byte[] hello =
                HandshakeHello.of(
                                Purpose.LINK,
                                secret.protection(),
                                new byte[HandshakeHello.nonceSize()],
                                keyOf(secret.protection()))
                        .bytes();
        int threadsBefore = Thread.activeCount();
        try (Acceptor patient = open(LONG);
                Flood flood = new Flood(patient)) {
            for (int i = 0; i < 1_000; i++) {
                flood.open(new byte[0]);
                flood.open(hello);
            }
            try (Socket socket = connect("127.0.0.1", patient)) {
                new Handshake(secret, Purpose.LINK, Duration.ofSeconds(30))
                        .initiate(socket.getChannel());
            }
            accepted.take().close();
            assertThat(Thread.activeCount() - threadsBefore).isLessThan(10);
        }
    }

    @Test
    void floodFromOneAddressDoesNotEvictOthers() throws Exception {
        try (Acceptor patient = open(LONG);
                Flood flood = new Flood(patient);
                SocketChannel slow = SocketChannel.open()) {
            slow.bind(new InetSocketAddress(InetAddress.ofLiteral("127.0.0.2"), 0));
            slow.connect(new InetSocketAddress(InetAddress.ofLiteral("127.0.0.1"), port(patient)));
            Socket oldest = flood.open(new byte[0]);
            for (int i = 0; i < Acceptor.MAX_PENDING; i++) {
                flood.open(new byte[0]);
            }
            assertThat(oldest.getInputStream().read()).isEqualTo(-1);
            new Handshake(secret, Purpose.LINK, Duration.ofSeconds(30)).initiate(slow);
            accepted.take().close();
        }
    }

    @Test
    void severalAddressesShareOnePort() throws Exception {
        List<InetSocketAddress> binds =
                Stream.of("127.0.0.1", "::1")
                        .map(host -> new InetSocketAddress(InetAddress.ofLiteral(host), 0))
                        .toList();
        try (Acceptor several =
                Acceptor.open(
                        binds,
                        new Handshake(secret, Purpose.LINK),
                        SocketSettings.DEFAULT,
                        new RefusedConnectionLog(log),
                        accepted::add)) {
            for (String host : List.of("127.0.0.1", "::1")) {
                try (Socket socket = connect(host, several)) {
                    new Handshake(secret, Purpose.LINK).initiate(socket.getChannel());
                    accepted.take().close();
                }
            }
            assertThatThrownBy(() -> connect("127.0.0.2", several).close())
                    .isInstanceOf(IOException.class);
        }
    }

    private Acceptor open(Duration timeout) {
        return Acceptor.open(
                List.of(new InetSocketAddress(0)),
                new Handshake(secret, Purpose.LINK, timeout),
                SocketSettings.DEFAULT,
                new RefusedConnectionLog(log),
                accepted::add);
    }

    private static byte[] keyOf(Protection protection) {
        return switch (protection) {
            case AUTHENTICATED -> new byte[0];
            case ENCRYPTED -> EphemeralKey.generate().publicKey();
        };
    }

    /// Connections that stay open.
    private record Flood(Acceptor target, List<Socket> sockets) implements AutoCloseable {
        Flood(Acceptor target) {
            this(target, new ArrayList<>());
        }

        Socket open(byte[] greeting) throws IOException {
            Socket socket = connect("127.0.0.1", target);
            sockets.add(socket);
            socket.getOutputStream().write(greeting);
            return socket;
        }

        @Override
        public void close() throws IOException {
            for (Socket each : sockets) {
                each.close();
            }
        }
    }

    @Test
    void threadStartFailureClosesOnlyThatConnection() throws Exception {
        AtomicBoolean exhausted = new AtomicBoolean(true);
        try (Acceptor withoutThread =
                Acceptor.open(
                        List.of(new InetSocketAddress(0)),
                        new Handshake(secret, Purpose.LINK),
                        SocketSettings.DEFAULT,
                        new RefusedConnectionLog(log),
                        accepted::add,
                        work -> {
                            if (exhausted.getAndSet(false)) {
                                throw new OutOfMemoryError("unable to create native thread");
                            }
                            Thread.ofPlatform().daemon().start(work);
                        })) {
            try (Socket socket = connect("127.0.0.1", withoutThread)) {
                SecureConnection connection =
                        new Handshake(secret, Purpose.LINK).initiate(socket.getChannel());
                assertThatThrownBy(() -> readByte(connection)).isInstanceOf(IOException.class);
            }
            try (Socket socket = connect("127.0.0.1", withoutThread)) {
                new Handshake(secret, Purpose.LINK).initiate(socket.getChannel());
            }
        }
    }

    @Test
    void portIsClosedWhenItsThreadEnds() throws Exception {
        try (Acceptor broken =
                Acceptor.open(
                        List.of(new InetSocketAddress(0)),
                        new Handshake(secret, Purpose.LINK),
                        SocketSettings.DEFAULT,
                        new RefusedConnectionLog(log),
                        accepted::add,
                        _ -> {
                            throw new LinkageError("thrown by a test");
                        })) {
            try (Socket socket = connect("127.0.0.1", broken)) {
                SecureConnection connection =
                        new Handshake(secret, Purpose.LINK).initiate(socket.getChannel());
                assertThatThrownBy(() -> readByte(connection)).isInstanceOf(IOException.class);
            }
            await().dontCatchUncaughtExceptions() // the error above
                    .untilAsserted(
                            () ->
                                    assertThatThrownBy(() -> connect("127.0.0.1", broken).close())
                                            .isInstanceOf(IOException.class));
        }
    }

    @Test
    void connectionIsClosedWhenHandlerFails() throws Exception {
        try (Acceptor broken =
                        Acceptor.open(
                                List.of(new InetSocketAddress(0)),
                                new Handshake(secret, Purpose.LINK),
                                SocketSettings.DEFAULT,
                                new RefusedConnectionLog(log),
                                _ -> {
                                    throw new IOException("broken already");
                                });
                Socket socket = connect("127.0.0.1", broken)) {
            SecureConnection secureConnection =
                    new Handshake(secret, Purpose.LINK).initiate(socket.getChannel());
            assertThatThrownBy(() -> readByte(secureConnection)).isInstanceOf(IOException.class);
        }
    }

    @Test
    void reflectedProofIsRefused() throws Exception {
        try (ServerSocket mirror = new ServerSocket(0, 1, InetAddress.getLoopbackAddress());
                Socket socket = SocketChannel.open(mirror.getLocalSocketAddress()).socket();
                Socket reflection = mirror.accept()) {
            Thread echoing = Thread.startVirtualThread(() -> echo(reflection));

            assertThatThrownBy(
                            () -> new Handshake(secret, Purpose.LINK).initiate(socket.getChannel()))
                    .isInstanceOf(HandshakeException.class)
                    .hasMessage("does not know the job's secret");
            socket.shutdownOutput();
            echoing.join();
        }
    }

    @Test
    void aTakenPortIsAConfigurationError() {
        InetSocketAddress taken = new InetSocketAddress(port(acceptor));

        assertThatThrownBy(
                        () ->
                                Acceptor.open(
                                        List.of(taken),
                                        new Handshake(secret, Purpose.LINK),
                                        SocketSettings.DEFAULT,
                                        new RefusedConnectionLog(log),
                                        accepted::add))
                .isInstanceOf(ConfigurationException.class)
                .hasMessageContaining("listening at")
                .hasMessageContaining("port that is free");
    }

    /// A cut connection gives an end of file or an exception.
    private static void readByte(SecureConnection connection) throws IOException {
        if (connection.input().read() < 0) {
            throw new EOFException();
        }
    }

    private void assertRefused(Handshake handshake, Reason reason) throws IOException {
        try (Socket socket = connect("127.0.0.1")) {
            assertThatThrownBy(() -> handshake.initiate(socket.getChannel()))
                    .isInstanceOfSatisfying(
                            HandshakeException.class,
                            e -> assertThat(e.reason()).isEqualTo(reason));
        }
    }

    private void awaitOneLine(String part) {
        await().until(() -> !log.lines().isEmpty());
        assertThat(log.lines())
                .singleElement()
                .asString()
                .startsWith("WARNING")
                .contains("127.0.0.1")
                .contains(part);
    }

    private void assertStillOpen() throws Exception {
        assertStillOpen(acceptor);
    }

    private void assertStillOpen(Acceptor to) throws Exception {
        try (Socket socket = connect("127.0.0.1", to)) {
            new Handshake(secret, Purpose.LINK).initiate(socket.getChannel());
            accepted.take().close();
        }
    }

    private Socket connect(String host) throws IOException {
        return connect(host, acceptor);
    }

    private static Socket connect(String host, Acceptor to) throws IOException {
        return SocketChannel.open(new InetSocketAddress(host, port(to))).socket();
    }

    private static int port(Acceptor acceptor) {
        return acceptor.address().getPort();
    }

    private static void echo(Socket socket) {
        try {
            socket.getInputStream().transferTo(socket.getOutputStream());
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
