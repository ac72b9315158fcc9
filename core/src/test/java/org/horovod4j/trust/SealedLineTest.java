package org.horovod4j.trust;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.horovod4j.trust.Handshake.Purpose;
import org.horovod4j.trust.RefusedException.Reason;
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
final class SealedLineTest {
    private static final int OPENING = 7 + 3 + 32 + Opening.KEY_SIZE;
    private static final int PROOF = 32;
    private static final int KEY = OPENING - 1;

    private final Secret secret = Secret.random().with(Protection.ENCRYPTED);
    private final ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor();
    private final ServerSocketChannel listener;
    private final Relay relay;

    SealedLineTest() throws IOException {
        InetSocketAddress anyPort = new InetSocketAddress(InetAddress.getLoopbackAddress(), 0);
        listener = ServerSocketChannel.open().bind(anyPort);
        relay = new Relay((InetSocketAddress) listener.getLocalAddress());
    }

    @AfterEach
    void close() throws Exception {
        relay.close();
        listener.close();
        threads.close();
    }

    @ParameterizedTest(name = "{0} bytes")
    @ValueSource(ints = {1, 65_535, 65_536, 65_537, 3_000_017})
    void bytesArriveAsTheyWereSent(int byteSize) throws Exception {
        byte[] text = new byte[byteSize];
        new Random(byteSize).nextBytes(text);
        Future<Line> accepting = accept(secret);
        try (Line dialler = handshake(secret).dial(SocketChannel.open(listener.getLocalAddress()));
                Line acceptor = accepting.get()) {
            Future<?> sending = threads.submit(write(dialler, text));

            assertThat(acceptor.input().readNBytes(byteSize)).isEqualTo(text);
            sending.get();
            dialler.farewell();
            assertThat(acceptor.input().read()).isEqualTo(-1);
        }
    }

    @Test
    void aTimeoutOfTheSocketHoldsAndLosesNothing() throws Exception {
        Pair pair = meet();
        pair.acceptor.channel().socket().setSoTimeout(50);
        pair.dialler.output().write(42);
        relay.pass(Sealer.HEADER); // half of a record

        assertThatThrownBy(() -> pair.acceptor.input().read())
                .isInstanceOf(SocketTimeoutException.class);
        relay.pass(1 + Sealer.TAG);
        assertThat(pair.acceptor.input().read()).isEqualTo(42);
    }

    @Test
    void aChangedRecordIsRefusedAndSoIsAllThatFollows() throws Exception {
        Pair pair = meet();
        pair.dialler.output().write(42);
        byte[] record = relay.take(1 + Sealer.OVERHEAD);
        record[Sealer.HEADER] ^= 1;
        relay.pass(record);

        assertBroken(pair.acceptor, 0);
        assertBroken(pair.acceptor, 0);
    }

    @Test
    void aRepeatedRecordIsRefused() throws Exception {
        Pair pair = meet();
        pair.dialler.output().write(42);
        byte[] record = relay.take(1 + Sealer.OVERHEAD);
        relay.pass(record);
        assertThat(pair.acceptor.input().read()).isEqualTo(42);
        relay.pass(record);

        assertBroken(pair.acceptor, 1);
    }

    @Test
    void recordsInAnotherOrderAreRefused() throws Exception {
        Pair pair = meet();
        pair.dialler.output().write(1);
        pair.dialler.output().write(2);
        byte[] first = relay.take(1 + Sealer.OVERHEAD);
        relay.pass(1 + Sealer.OVERHEAD);
        relay.pass(first);

        assertBroken(pair.acceptor, 0);
    }

    @Test
    void aLengthThatNobodyWritesIsRefusedBeforeAnythingIsWaitedFor() throws Exception {
        Pair pair = meet();
        relay.pass(ByteBuffer.allocate(Integer.BYTES).putInt(Integer.MAX_VALUE).array());

        assertBroken(pair.acceptor, 0);
    }

    @ParameterizedTest(name = "after {0} bytes of the last record")
    @ValueSource(ints = {0, 2, 20})
    void anEndThatTheOtherEndHasNotSaidIsNoticed(int part) throws Exception {
        Pair pair = meet();
        pair.dialler.output().write(1);
        pair.dialler.output().write(2);
        relay.pass(1 + Sealer.OVERHEAD);
        relay.pass(part);
        relay.cut();

        assertThat(pair.acceptor.input().read()).isEqualTo(1);
        assertThatThrownBy(() -> pair.acceptor.input().read())
                .isInstanceOf(EOFException.class)
                .hasMessageContaining("cut off");
    }

    @Test
    void aKeyThatIsExchangedOnTheWayIsNoticed() throws Exception {
        Future<Line> accepting = accept(secret);
        Future<Line> dialling = dial(secret);
        byte[] opening = relay.take(OPENING);
        opening[KEY] ^= 1;
        relay.pass(opening);
        relay.pass(PROOF);

        assertThatThrownBy(accepting::get).cause().hasMessage("does not know the job's secret");
        listener.close();
        assertThatThrownBy(dialling::get).cause().isInstanceOf(RefusedException.class);
    }

    @Test
    void theKeyAloneProvesNothing() throws Exception {
        Future<Line> accepting = accept(secret);
        Future<Line> dialling = dial(Secret.random().with(Protection.ENCRYPTED));
        relay.pass(OPENING);
        relay.pass(PROOF);

        assertRefused(accepting, Reason.SECRET, "does not know the job's secret");
        assertRefused(dialling, Reason.SECRET, "refused our proof of the job's secret");
    }

    @ParameterizedTest(name = "dialler {0}")
    @EnumSource(Protection.class)
    void endsThatDisagreeAboutEncryptionAreBothTold(Protection ofDialler) throws Exception {
        Protection ofAcceptor = Protection.of(ofDialler == Protection.AUTHENTICATED);
        Future<Line> accepting = accept(secret.with(ofAcceptor));
        Future<Line> dialling = dial(secret.with(ofDialler));
        relay.pass(ofDialler == Protection.ENCRYPTED ? OPENING : OPENING - Opening.KEY_SIZE);

        assertRefused(accepting, Reason.PROTECTION, complaint(ofDialler));
        assertRefused(dialling, Reason.PROTECTION, complaint(ofAcceptor));
    }

    private static String complaint(Protection ofOther) {
        return (ofOther == Protection.ENCRYPTED
                        ? "encrypts, while HOROVOD_TLS is off here"
                        : "does not encrypt, while HOROVOD_TLS is on here")
                + ": give the launcher and every rank the same";
    }

    private record Pair(Line dialler, Line acceptor) {}

    /// Two ends that have shaken hands, with the relay between them.
    private Pair meet() throws Exception {
        Future<Line> accepting = accept(secret);
        Future<Line> dialling = dial(secret);
        relay.pass(OPENING);
        relay.pass(PROOF);
        return new Pair(dialling.get(), accepting.get());
    }

    /// Closes a connection that was refused, as a gate does.
    private Future<Line> accept(Secret own) {
        return threads.submit(
                () -> {
                    SocketChannel channel = listener.accept();
                    return closingUnless(channel, () -> handshake(own).accept(channel));
                });
    }

    private Future<Line> dial(Secret own) {
        return threads.submit(
                () -> {
                    SocketChannel channel = SocketChannel.open(relay.address());
                    return closingUnless(channel, () -> handshake(own).dial(channel));
                });
    }

    private static Line closingUnless(SocketChannel channel, Callable<Line> greeting)
            throws Exception {
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

    private static Callable<Void> write(Line line, byte[] text) {
        return () -> {
            line.output().write(text);
            return null;
        };
    }

    private static void assertBroken(Line line, int record) {
        assertThatThrownBy(() -> line.input().read())
                .isInstanceOf(BrokenSealException.class)
                .hasMessageContaining("record " + record + " of the encrypted connection");
    }

    private static void assertRefused(Future<Line> shaking, Reason reason, String message) {
        assertThatThrownBy(shaking::get)
                .isInstanceOf(ExecutionException.class)
                .cause()
                .isInstanceOfSatisfying(
                        RefusedException.class, e -> assertThat(e.reason()).isEqualTo(reason))
                .hasMessage(message);
    }
}
