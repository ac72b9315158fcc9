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
import java.util.Objects;
import java.util.Random;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;

/// An encrypted connection, and an attacker in between, who can only break it.
final class EncryptedConnectionTest {
    private static final int HELLO = 7 + 3 + 32 + HandshakeHello.KEY_SIZE;
    private static final int PROOF = 32;
    private static final int KEY = HELLO - 1;

    private final Secret secret = Secret.random().withProtection(Protection.ENCRYPTED);
    private final ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor();
    private final ServerSocketChannel listener;
    private final InterceptingProxy proxy;

    EncryptedConnectionTest() throws IOException {
        InetSocketAddress anyPort = new InetSocketAddress(InetAddress.getLoopbackAddress(), 0);
        listener = ServerSocketChannel.open().bind(anyPort);
        proxy = new InterceptingProxy((InetSocketAddress) listener.getLocalAddress());
    }

    @AfterEach
    void close() throws Exception {
        proxy.close();
        listener.close();
        threads.close();
    }

    @ParameterizedTest(name = "{0} bytes")
    @ValueSource(ints = {1, 65_535, 65_536, 65_537, 3_000_017})
    void bytesArriveAsTheyWereSent(int byteSize) throws Exception {
        byte[] text = new byte[byteSize];
        new Random(byteSize).nextBytes(text);
        Future<SecureConnection> accepting = accept(secret);
        try (SecureConnection initiator =
                        handshake(secret).initiate(SocketChannel.open(listener.getLocalAddress()));
                SecureConnection acceptor = accepting.get()) {
            Future<?> sending = threads.submit(write(initiator, text));

            assertThat(acceptor.input().readNBytes(byteSize)).isEqualTo(text);
            sending.get();
            initiator.sendCloseNotify();
            assertThat(acceptor.input().read()).isEqualTo(-1);
        }
    }

    @Test
    void readTimeoutLosesNoBytes() throws Exception {
        ConnectionPair pair = connect();
        pair.acceptor.channel().socket().setSoTimeout(50);
        pair.initiator.output().write(42);
        proxy.pass(RecordCipher.HEADER); // half of a record

        assertThatThrownBy(() -> pair.acceptor.input().read())
                .isInstanceOf(SocketTimeoutException.class);
        proxy.pass(1 + RecordCipher.TAG);
        pair.acceptor.channel().socket().setSoTimeout(30_000);
        assertThat(pair.acceptor.input().read()).isEqualTo(42);
    }

    @Test
    void modifiedRecordFailsThisAndAllLaterReads() throws Exception {
        ConnectionPair pair = connect();
        pair.initiator.output().write(42);
        byte[] record = proxy.take(1 + RecordCipher.OVERHEAD);
        record[RecordCipher.HEADER] ^= 1;
        proxy.pass(record);

        assertBroken(pair.acceptor, 0);
        assertBroken(pair.acceptor, 0);
    }

    @Test
    void aRepeatedRecordIsRefused() throws Exception {
        ConnectionPair pair = connect();
        pair.initiator.output().write(42);
        byte[] record = proxy.take(1 + RecordCipher.OVERHEAD);
        proxy.pass(record);
        assertThat(pair.acceptor.input().read()).isEqualTo(42);
        proxy.pass(record);

        assertBroken(pair.acceptor, 1);
    }

    @Test
    void recordsInAnotherOrderAreRefused() throws Exception {
        ConnectionPair pair = connect();
        pair.initiator.output().write(1);
        pair.initiator.output().write(2);
        byte[] first = proxy.take(1 + RecordCipher.OVERHEAD);
        proxy.pass(1 + RecordCipher.OVERHEAD);
        proxy.pass(first);

        assertBroken(pair.acceptor, 0);
    }

    @Test
    void invalidLengthIsRefusedImmediately() throws Exception {
        ConnectionPair pair = connect();
        proxy.pass(ByteBuffer.allocate(Integer.BYTES).putInt(Integer.MAX_VALUE).array());

        assertBroken(pair.acceptor, 0);
    }

    @ParameterizedTest(name = "after {0} bytes of the last record")
    @ValueSource(ints = {0, 2, 20})
    void truncationWithoutCloseNotifyIsDetected(int part) throws Exception {
        ConnectionPair pair = connect();
        pair.initiator.output().write(1);
        pair.initiator.output().write(2);
        proxy.pass(1 + RecordCipher.OVERHEAD);
        proxy.pass(part);
        proxy.cut();

        assertThat(pair.acceptor.input().read()).isEqualTo(1);
        assertThatThrownBy(() -> pair.acceptor.input().read())
                .isInstanceOf(EOFException.class)
                .hasMessageContaining("cut off");
    }

    @Test
    void replacedPublicKeyIsDetected() throws Exception {
        Future<SecureConnection> accepting = accept(secret);
        Future<SecureConnection> initiating = initiate(secret);
        byte[] hello = proxy.take(HELLO);
        hello[KEY] ^= 1;
        proxy.pass(hello);
        proxy.pass(PROOF);

        assertThatThrownBy(accepting::get).cause().hasMessage("does not know the job's secret");
        listener.close();
        assertThatThrownBy(initiating::get).cause().isInstanceOf(HandshakeException.class);
    }

    @Test
    void wrongSecretIsRefusedWithEncryption() throws Exception {
        Future<SecureConnection> accepting = accept(secret);
        Future<SecureConnection> initiating =
                initiate(Secret.random().withProtection(Protection.ENCRYPTED));
        proxy.pass(HELLO);
        proxy.pass(PROOF);

        assertRefused(accepting, Reason.SECRET, "does not know the job's secret");
        assertRefused(initiating, Reason.SECRET, "refused our proof of the job's secret");
    }

    @ParameterizedTest(name = "initiator {0}")
    @EnumSource(Protection.class)
    void encryptionMismatchFailsOnBothEnds(Protection ofInitiator) throws Exception {
        Protection ofAcceptor = Protection.of(ofInitiator == Protection.AUTHENTICATED);
        Future<SecureConnection> accepting = accept(secret.withProtection(ofAcceptor));
        Future<SecureConnection> initiating = initiate(secret.withProtection(ofInitiator));
        proxy.pass(ofInitiator == Protection.ENCRYPTED ? HELLO : HELLO - HandshakeHello.KEY_SIZE);

        assertRefused(accepting, Reason.PROTECTION, expectedMessage(ofInitiator));
        assertRefused(initiating, Reason.PROTECTION, expectedMessage(ofAcceptor));
    }

    private static String expectedMessage(Protection ofOther) {
        return (ofOther == Protection.ENCRYPTED
                        ? "encrypts, while HOROVOD_TLS is off here"
                        : "does not encrypt, while HOROVOD_TLS is on here")
                + ": give the launcher and every rank the same";
    }

    private record ConnectionPair(SecureConnection initiator, SecureConnection acceptor) {}

    /// Two ends after the handshake, with the proxy between them.
    private ConnectionPair connect() throws Exception {
        Future<SecureConnection> accepting = accept(secret);
        Future<SecureConnection> initiating = initiate(secret);
        proxy.pass(HELLO);
        proxy.pass(PROOF);
        return new ConnectionPair(initiating.get(), accepting.get());
    }

    /// Closes a connection that was refused, as an acceptor does.
    private Future<SecureConnection> accept(Secret own) {
        return threads.submit(
                () -> {
                    SocketChannel channel = listener.accept();
                    return closeOnFailure(
                            channel, () -> proved(new PendingHandshake(handshake(own), channel)));
                });
    }

    /// The channel is blocking, so one call does the whole handshake.
    private static SecureConnection proved(PendingHandshake pendingHandshake) throws IOException {
        return Objects.requireNonNull(pendingHandshake.advance());
    }

    private Future<SecureConnection> initiate(Secret own) {
        return threads.submit(
                () -> {
                    SocketChannel channel = SocketChannel.open(proxy.address());
                    return closeOnFailure(channel, () -> handshake(own).initiate(channel));
                });
    }

    private static SecureConnection closeOnFailure(
            SocketChannel channel, Callable<SecureConnection> handshake) throws Exception {
        try {
            return handshake.call();
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
            Future<SecureConnection> future, Reason reason, String message) {
        assertThatThrownBy(future::get)
                .isInstanceOf(ExecutionException.class)
                .cause()
                .isInstanceOfSatisfying(
                        HandshakeException.class, e -> assertThat(e.reason()).isEqualTo(reason))
                .hasMessage(message);
    }
}
