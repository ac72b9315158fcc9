package org.horovod4j.launcher.function;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.tuple;

import org.horovod4j.codec.ObjectCodec;
import org.horovod4j.trust.Secret;
import org.horovod4j.trust.UnreachableException;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.time.Duration;

/// The desk and its customers, over real sockets.
class FunctionDeskTest {
    private static final int SIZE = 3;
    private static final RankFunction<Integer> FUNCTION = _ -> 5;

    private final Secret secret = Secret.random();
    private final Ledger ledger = new Ledger();
    private final FunctionDesk desk =
            FunctionDesk.open(
                    secret,
                    new InetSocketAddress(InetAddress.getLoopbackAddress(), 0),
                    FunctionReader.of(FUNCTION),
                    SIZE,
                    ledger);

    @AfterEach
    void close() {
        desk.close();
    }

    private FunctionLine line(Secret known) {
        String text = DeskAddresses.local(desk.port());
        return new FunctionLine(known, DeskAddresses.parse(text), Duration.ofSeconds(10));
    }

    private static Failure failure(boolean isConsequence) {
        return new Failure("summary", "trace", isConsequence);
    }

    @Test
    void aRankFetchesTheFunctionAndHandsInItsResult() throws Exception {
        FunctionReference fetched = line(secret).fetch();
        assertThat(Calls.call(fetched, getClass().getClassLoader())).isEqualTo(5);
        byte[] value = new ObjectCodec().encode(5);
        line(secret).handIn(new Request.Returned(1, value));
        assertThat(ledger.value(1)).contains(value);
        assertThat(ledger.value(0)).isEmpty();
    }

    @Test
    void aStrangerGetsAndChangesNothing() {
        FunctionLine stranger = line(Secret.random());
        assertThatThrownBy(stranger::fetch)
                .isInstanceOf(UnreachableException.class)
                .hasMessageContaining("secret");
        assertThatThrownBy(() -> stranger.handIn(new Request.Returned(0, new byte[1])))
                .isInstanceOf(UnreachableException.class);
        assertThat(ledger.value(0)).isEmpty();
    }

    @Test
    void anOutcomeOfARankThatIsNotThereIsNotNoted() {
        assertThatThrownBy(() -> line(secret).handIn(new Request.Returned(SIZE, new byte[1])))
                .isInstanceOf(IOException.class);
        assertThat(ledger.firstSetback()).isEmpty();
    }

    @Test
    void theFirstOutcomeOfARankCounts() throws Exception {
        line(secret).handIn(new Request.Threw(2, failure(false)));
        line(secret).handIn(new Request.Returned(2, new byte[1]));
        ledger.exited(2, "exit code 1");
        assertThat(ledger.value(2)).isEmpty();
        assertThat(ledger.firstSetback()).contains(new Ledger.Threw(2, failure(false)));
    }

    @Test
    void whoMerelyLostAnotherIsNotTheCause() throws Exception {
        line(secret).handIn(new Request.Threw(0, failure(true)));
        assertThat(ledger.firstSetback()).contains(new Ledger.Threw(0, failure(true)));
        ledger.exited(0, "exit code 1");
        ledger.exited(1, "killed by signal 9 (SIGKILL)");
        assertThat(ledger.firstSetback())
                .contains(new Ledger.Died(1, "killed by signal 9 (SIGKILL)"));
    }

    @Test
    void addressesOfEveryKindAreReadAsTheyAreWritten() {
        assertThat(DeskAddresses.parse("10.0.0.7:4711,[fd00::7]:80"))
                .extracting(InetSocketAddress::getPort, it -> it.getAddress().getHostAddress())
                .containsExactly(tuple(4711, "10.0.0.7"), tuple(80, "fd00:0:0:0:0:0:0:7"));
    }
}
