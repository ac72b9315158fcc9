package org.horovod4j.trust;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import static java.nio.charset.StandardCharsets.US_ASCII;

import org.horovod4j.ConfigurationException;
import org.horovod4j.trust.Handshake.Purpose;
import org.horovod4j.trust.RefusedException.Reason;
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

/// Who gets in and who does not, over real sockets.
@ParameterizedClass(name = "{0}")
@EnumSource(Protection.class)
final class GateTest {
    GateTest(Protection protection) {
        this.secret = Secret.random().with(protection);
        this.gate =
                Gate.open(
                        new InetSocketAddress(0),
                        new Handshake(secret, Purpose.LINK, SHORT),
                        SocketSettings.DEFAULT,
                        new RefusalLog(log),
                        admitted::add);
    }

    private static final Duration SHORT = Duration.ofMillis(200);

    private final Secret secret;
    private final RecordingLogger log = new RecordingLogger();
    private final BlockingQueue<Line> admitted = new LinkedBlockingQueue<>();
    private final Gate gate;

    @AfterEach
    void close() throws IOException {
        gate.close();
        for (Line line : admitted) {
            line.close();
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"127.0.0.1", "::1"})
    void admitsThoseWhoKnowTheSecret(String host) throws Exception {
        try (Socket socket = connect(host)) {
            Line line = new Handshake(secret, Purpose.LINK).dial(socket.getChannel());
            Line inside = admitted.take();
            line.output().write(42);

            assertThat(inside.input().read()).isEqualTo(42);
            assertThat(inside.channel().getOption(StandardSocketOptions.TCP_NODELAY)).isTrue();
            assertThat(inside.channel().getOption(StandardSocketOptions.SO_KEEPALIVE)).isTrue();
        }
        assertThat(log.lines()).isEmpty();
    }

    @Test
    void refusesAnotherSecretAndTellsTheCaller() throws Exception {
        assertRefused(
                new Handshake(Secret.random().with(secret.protection()), Purpose.LINK),
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
                                            .dial(socket.getChannel()))
                    .isInstanceOf(RefusedException.class);
        }
        awaitOneLine("a port is mixed up");
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
            byte[] opening = Arrays.copyOf("Hvd4J\r\n".getBytes(US_ASCII), 41);
            opening[7] = 9;
            socket.getOutputStream().write(opening);

            awaitOneLine("speaks version 9");
        }
        assertStillOpen();
    }

    @Test
    void endsAConnectionThatSaysNothingAtTheDeadline() throws Exception {
        try (Socket socket = connect("127.0.0.1")) {
            assertThat(socket.getInputStream().read()).isEqualTo(-1);
        }
        awaitOneLine("did not introduce itself within 200 ms");
        assertStillOpen();
    }

    @Test
    void endsAConnectionThatStopsHalfWayAtTheSameDeadline() throws Exception {
        try (Socket socket = connect("127.0.0.1")) {
            socket.getOutputStream().write("Hvd4J".getBytes(US_ASCII));

            assertThat(socket.getInputStream().read()).isEqualTo(-1);
        }
        awaitOneLine("did not introduce itself");
    }

    @Test
    void reportsAScannerOnceHoweverOftenItKnocks() throws Exception {
        for (int i = 0; i < 5; i++) {
            connect("127.0.0.1").close();
        }
        awaitOneLine("closed the connection before proving itself");
        assertStillOpen();
        assertThat(log.lines()).hasSize(1);
    }

    @Test
    void goodCallersPassWhileStrangersLoiter() throws Exception {
        try (Socket one = connect("127.0.0.1");
                Socket other = connect("127.0.0.1")) {
            assertThat(one.isConnected() && other.isConnected()).isTrue();
            assertStillOpen();
        }
    }

    /// As many as are served at a time, each with a minute to introduce itself.
    @Test
    void aCrowdOfSilentStrangersDoesNotKeepOthersOut() throws Exception {
        List<Socket> crowd = new ArrayList<>();
        try (Gate patient =
                Gate.open(
                        new InetSocketAddress(0),
                        new Handshake(secret, Purpose.LINK, Duration.ofMinutes(1)),
                        SocketSettings.DEFAULT,
                        new RefusalLog(log),
                        admitted::add)) {
            for (int i = 0; i < 512; i++) {
                crowd.add(connect("127.0.0.1", patient));
            }
            try (Socket socket = connect("127.0.0.1", patient)) {
                new Handshake(secret, Purpose.LINK, Duration.ofSeconds(30))
                        .dial(socket.getChannel());
            }
        } finally {
            for (Socket each : crowd) {
                each.close();
            }
        }
    }

    @Test
    void withoutAThreadACallerIsSentOffAndTheNextIsServed() throws Exception {
        AtomicBoolean exhausted = new AtomicBoolean(true);
        try (Gate poor =
                Gate.open(
                        new InetSocketAddress(0),
                        new Handshake(secret, Purpose.LINK),
                        SocketSettings.DEFAULT,
                        new RefusalLog(log),
                        admitted::add,
                        work -> {
                            if (exhausted.getAndSet(false)) {
                                throw new OutOfMemoryError("unable to create native thread");
                            }
                            Thread.ofPlatform().daemon().start(work);
                        })) {
            try (Socket socket = connect("127.0.0.1", poor)) {
                assertThat(socket.getInputStream().read()).isEqualTo(-1);
            }
            try (Socket socket = connect("127.0.0.1", poor)) {
                new Handshake(secret, Purpose.LINK).dial(socket.getChannel());
            }
        }
    }

    @Test
    void aLineThatNobodyTakesIsClosed() throws Exception {
        try (Gate broken =
                        Gate.open(
                                new InetSocketAddress(0),
                                new Handshake(secret, Purpose.LINK),
                                SocketSettings.DEFAULT,
                                new RefusalLog(log),
                                _ -> {
                                    throw new IOException("broken already");
                                });
                Socket socket = connect("127.0.0.1", broken)) {
            Line line = new Handshake(secret, Purpose.LINK).dial(socket.getChannel());
            assertThatThrownBy(
                            () -> {
                                if (line.input().read() < 0) {
                                    throw new EOFException();
                                }
                            })
                    .isInstanceOf(IOException.class);
        }
    }

    @Test
    void aProofSentBackToItsMakerProvesNothing() throws Exception {
        try (ServerSocket mirror = new ServerSocket(0, 1, InetAddress.getLoopbackAddress());
                Socket socket = SocketChannel.open(mirror.getLocalSocketAddress()).socket();
                Socket reflection = mirror.accept()) {
            Thread echoing = Thread.startVirtualThread(() -> echo(reflection));

            assertThatThrownBy(() -> new Handshake(secret, Purpose.LINK).dial(socket.getChannel()))
                    .isInstanceOf(RefusedException.class)
                    .hasMessage("does not know the job's secret");
            socket.shutdownOutput();
            echoing.join();
        }
    }

    @Test
    void aTakenPortIsAConfigurationError() {
        InetSocketAddress taken = new InetSocketAddress(port(gate));

        assertThatThrownBy(
                        () ->
                                Gate.open(
                                        taken,
                                        new Handshake(secret, Purpose.LINK),
                                        SocketSettings.DEFAULT,
                                        new RefusalLog(log),
                                        admitted::add))
                .isInstanceOf(ConfigurationException.class)
                .hasMessageContaining("listening at")
                .hasMessageContaining("port that is free");
    }

    private void assertRefused(Handshake handshake, Reason reason) throws IOException {
        try (Socket socket = connect("127.0.0.1")) {
            assertThatThrownBy(() -> handshake.dial(socket.getChannel()))
                    .isInstanceOfSatisfying(
                            RefusedException.class, e -> assertThat(e.reason()).isEqualTo(reason));
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
        try (Socket socket = connect("127.0.0.1")) {
            new Handshake(secret, Purpose.LINK).dial(socket.getChannel());
            admitted.take().close();
        }
    }

    private Socket connect(String host) throws IOException {
        return connect(host, gate);
    }

    private static Socket connect(String host, Gate to) throws IOException {
        return SocketChannel.open(new InetSocketAddress(host, port(to))).socket();
    }

    private static int port(Gate gate) {
        return gate.address().getPort();
    }

    private static void echo(Socket socket) {
        try {
            socket.getInputStream().transferTo(socket.getOutputStream());
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
