package org.horovod4j.security;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.horovod4j.security.Handshake.Purpose;
import org.horovod4j.security.HandshakeException.Reason;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

import java.io.EOFException;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.SocketTimeoutException;
import java.nio.ByteBuffer;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.time.Duration;
import java.util.Random;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;

/// An encrypted connection, and what somebody on the way can do to it: nothing but end it.
final class EncryptedConnectionTest {
    private static final int OPENING = 7 + 3 + 32 + HandshakeHello.KEY_SIZE;
    private static final int PROOF = 32;
    private static final int KEY = OPENING - 1;

    private final Secret secret = Secret.random().withProtection(Protection.ENCRYPTED);
    private final ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor();
    private final ServerSocketChannel listener;
    private final InterceptingProxy interceptingProxy;

    EncryptedConnectionTest() throws IOException {
        InetSocketAddress anyPort = new InetSocketAddress(InetAddress.getLoopbackAddress(), 0);
        listener = ServerSocketChannel.open().bind(anyPort);
        interceptingProxy = new InterceptingProxy((InetSocketAddress) listener.getLocalAddress());
    }

    @AfterEach
    void close() throws Exception {
        interceptingProxy.close();
        listener.close();
        threads.close();
    }

    @ParameterizedTest(name = "{0} bytes")
    @ValueSource(ints = {1, 65_535, 65_536, 65_537, 3_000_017})
    void bytesArriveAsTheyWereSent(int byteSize) throws Exception {
        byte[] text = new byte[byteSize];
        new Random(byteSize).nextBytes(text);
        Future<SecureConnection> accepting = accept(secret);
        try (SecureConnection dialler =
                        handshake(secret).initiate(SocketChannel.open(listener.getLocalAddress()));
                SecureConnection acceptor = accepting.get()) {
            Future<?> sending = threads.submit(write(dialler, text));

            assertThat(acceptor.input().readNBytes(byteSize)).isEqualTo(text);
            sending.get();
            dialler.sendCloseNotify();
            assertThat(acceptor.input().read()).isEqualTo(-1);
        }
    }

    @Test
    void readTimeoutLosesNoBytes() throws Exception {
        ConnectionPair connectionPair = meet();
        connectionPair.acceptor.channel().socket().setSoTimeout(50);
        connectionPair.dialler.output().write(42);
        interceptingProxy.pass(RecordCipher.HEADER); // half of a record

        assertThatThrownBy(() -> connectionPair.acceptor.input().read())
                .isInstanceOf(SocketTimeoutException.class);
        interceptingProxy.pass(1 + RecordCipher.TAG);
        assertThat(connectionPair.acceptor.input().read()).isEqualTo(42);
    }

    @Test
    void modifiedRecordFailsThisAndAllLaterReads() throws Exception {
        ConnectionPair connectionPair = meet();
        connectionPair.dialler.output().write(42);
        byte[] record = interceptingProxy.take(1 + RecordCipher.OVERHEAD);
        record[RecordCipher.HEADER] ^= 1;
        interceptingProxy.pass(record);

        assertBroken(connectionPair.acceptor, 0);
        assertBroken(connectionPair.acceptor, 0);
    }

    @Test
    void aRepeatedRecordIsRefused() throws Exception {
        ConnectionPair connectionPair = meet();
        connectionPair.dialler.output().write(42);
        byte[] record = interceptingProxy.take(1 + RecordCipher.OVERHEAD);
        interceptingProxy.pass(record);
        assertThat(connectionPair.acceptor.input().read()).isEqualTo(42);
        interceptingProxy.pass(record);

        assertBroken(connectionPair.acceptor, 1);
    }

    @Test
    void recordsInAnotherOrderAreRefused() throws Exception {
        ConnectionPair connectionPair = meet();
        connectionPair.dialler.output().write(1);
        connectionPair.dialler.output().write(2);
        byte[] first = interceptingProxy.take(1 + RecordCipher.OVERHEAD);
        interceptingProxy.pass(1 + RecordCipher.OVERHEAD);
        interceptingProxy.pass(first);

        assertBroken(connectionPair.acceptor, 0);
    }

    @Test
    void invalidLengthIsRefusedImmediately() throws Exception {
        ConnectionPair connectionPair = meet();
        interceptingProxy.pass(
                ByteBuffer.allocate(Integer.BYTES).putInt(Integer.MAX_VALUE).array());

        assertBroken(connectionPair.acceptor, 0);
    }

    @ParameterizedTest(name = "after {0} bytes of the last record")
    @ValueSource(ints = {0, 2, 20})
    void truncationWithoutCloseNotifyIsDetected(int part) throws Exception {
        ConnectionPair connectionPair = meet();
        connectionPair.dialler.output().write(1);
        connectionPair.dialler.output().write(2);
        interceptingProxy.pass(1 + RecordCipher.OVERHEAD);
        interceptingProxy.pass(part);
        interceptingProxy.cut();

        assertThat(connectionPair.acceptor.input().read()).isEqualTo(1);
        assertThatThrownBy(() -> connectionPair.acceptor.input().read())
                .isInstanceOf(EOFException.class)
                .hasMessageContaining("cut off");
    }

    @Test
    void replacedPublicKeyIsDetected() throws Exception {
        Future<SecureConnection> accepting = accept(secret);
        Future<SecureConnection> dialling = dial(secret);
        byte[] opening = interceptingProxy.take(OPENING);
        opening[KEY] ^= 1;
        interceptingProxy.pass(opening);
        interceptingProxy.pass(PROOF);

        assertThatThrownBy(accepting::get).cause().hasMessage("does not know the job's secret");
        listener.close();
        assertThatThrownBy(dialling::get).cause().isInstanceOf(HandshakeException.class);
    }

    @Test
    void wrongSecretIsRefusedWithEncryption() throws Exception {
        Future<SecureConnection> accepting = accept(secret);
        Future<SecureConnection> dialling =
                dial(Secret.random().withProtection(Protection.ENCRYPTED));
        interceptingProxy.pass(OPENING);
        interceptingProxy.pass(PROOF);

        assertRefused(accepting, Reason.SECRET, "does not know the job's secret");
        assertRefused(dialling, Reason.SECRET, "refused our proof of the job's secret");
    }

    @ParameterizedTest(name = "dialler {0}")
    @EnumSource(Protection.class)
    void encryptionMismatchFailsOnBothEnds(Protection ofDialler) throws Exception {
        Protection ofAcceptor = Protection.of(ofDialler == Protection.AUTHENTICATED);
        Future<SecureConnection> accepting = accept(secret.withProtection(ofAcceptor));
        Future<SecureConnection> dialling = dial(secret.withProtection(ofDialler));
        interceptingProxy.pass(
                ofDialler == Protection.ENCRYPTED ? OPENING : OPENING - HandshakeHello.KEY_SIZE);

        assertRefused(accepting, Reason.PROTECTION, complaint(ofDialler));
        assertRefused(dialling, Reason.PROTECTION, complaint(ofAcceptor));
    }

    private static String complaint(Protection ofOther) {
        return (ofOther == Protection.ENCRYPTED
                        ? "encrypts, while HOROVOD_TLS is off here"
                        : "does not encrypt, while HOROVOD_TLS is on here")
                + ": give the launcher and every rank the same";
    }

    private record ConnectionPair(SecureConnection dialler, SecureConnection acceptor) {}

    /// Two ends that have shaken hands, with the relay between them.
    private ConnectionPair meet() throws Exception {
        Future<SecureConnection> accepting = accept(secret);
        Future<SecureConnection> dialling = dial(secret);
        interceptingProxy.pass(OPENING);
        interceptingProxy.pass(PROOF);
        return new ConnectionPair(dialling.get(), accepting.get());
    }

    /// Closes a connection that was refused, as a gate does.
    private Future<SecureConnection> accept(Secret own) {
        return threads.submit(
                () -> {
                    SocketChannel channel = listener.accept();
                    return closingUnless(channel, () -> handshake(own).accept(channel));
                });
    }

    private Future<SecureConnection> dial(Secret own) {
        return threads.submit(
                () -> {
                    SocketChannel channel = SocketChannel.open(interceptingProxy.address());
                    return closingUnless(channel, () -> handshake(own).initiate(channel));
                });
    }

    private static SecureConnection closingUnless(
            SocketChannel channel, Callable<SecureConnection> greeting) throws Exception {
        try {
            return greeting.call();
        } catch (IOException e) {
            channel.close();
            throw e;
        }
    }

    private static Handshake handshake(Secret own) {
        return new Handshake(own, Purpose.LINK, Duration.ofSeconds(30));
    }

    private static Callable<Void> write(SecureConnection secureConnection, byte[] text) {
        return () -> {
            secureConnection.output().write(text);
            return null;
        };
    }

    private static void assertBroken(SecureConnection secureConnection, int record) {
        assertThatThrownBy(() -> secureConnection.input().read())
                .isInstanceOf(RecordAuthenticationException.class)
                .hasMessageContaining("record " + record + " of the encrypted connection");
    }

    private static void assertRefused(
            Future<SecureConnection> shaking, Reason reason, String message) {
        assertThatThrownBy(shaking::get)
                .isInstanceOf(ExecutionException.class)
                .cause()
                .isInstanceOfSatisfying(
                        HandshakeException.class, e -> assertThat(e.reason()).isEqualTo(reason))
                .hasMessage(message);
    }
}
