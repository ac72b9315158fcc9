package org.horovod4j.launcher.function;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.tuple;

import org.horovod4j.RankFunction;
import org.horovod4j.codec.ObjectCodec;
import org.horovod4j.security.Secret;
import org.horovod4j.security.UnreachableException;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.List;

/// Server and clients over real sockets.
class FunctionServerTest {
    private static final int SIZE = 3;
    private static final Duration TIMEOUT = Duration.ofSeconds(10);
    private static final RankFunction<Integer> FUNCTION = _ -> 5;

    private final Secret secret = Secret.random();
    private final RankOutcomes outcomes = new RankOutcomes();
    private final FunctionServer server =
            new FunctionServer(
                    secret,
                    List.of(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0)),
                    FunctionEncoder.of(FUNCTION),
                    SIZE,
                    outcomes,
                    TIMEOUT);

    @AfterEach
    void close() {
        server.close();
    }

    private FunctionClient client(Secret known) {
        String text = FunctionServerAddresses.local(server.port());
        return new FunctionClient(known, FunctionServerAddresses.parse(text), TIMEOUT, TIMEOUT);
    }

    private static FunctionFailure failure(boolean isPeerLoss) {
        return new FunctionFailure(ThrownException.of(new IOException("summary")), isPeerLoss);
    }

    @Test
    void rankFetchesFunctionAndReportsResult() throws Exception {
        FunctionReference fetched = client(secret).fetch();
        assertThat(FunctionCaller.call(fetched, getClass().getClassLoader())).isEqualTo(5);
        byte[] value = new ObjectCodec().encode(5);
        client(secret).report(new RankOutcomes.Returned(1, value));
        assertThat(outcomes.value(1)).contains(value);
        assertThat(outcomes.value(0)).isEmpty();
    }

    @Test
    void clientWithWrongSecretIsRejected() {
        FunctionClient clientOfAnotherJob = client(Secret.random());
        assertThatThrownBy(clientOfAnotherJob::fetch)
                .isInstanceOf(UnreachableException.class)
                .hasMessageContaining("secret");
        assertThatThrownBy(
                        () -> clientOfAnotherJob.report(new RankOutcomes.Returned(0, new byte[1])))
                .isInstanceOf(UnreachableException.class);
        assertThat(outcomes.value(0)).isEmpty();
    }

    @Test
    void outcomeOfUnknownRankIsRejected() {
        assertThatThrownBy(
                        () -> client(secret).report(new RankOutcomes.Returned(SIZE, new byte[1])))
                .isInstanceOf(IOException.class);
        assertThat(outcomes.firstFailure()).isEmpty();
    }

    @Test
    void theFirstOutcomeOfARankCounts() throws Exception {
        RankOutcomes.Threw threw = new RankOutcomes.Threw(2, failure(false));
        client(secret).report(threw);
        client(secret).report(new RankOutcomes.Returned(2, new byte[1]));
        outcomes.exited(2, "exit code 1");
        assertThat(outcomes.value(2)).isEmpty();
        assertThat(outcomes.firstFailure()).contains(threw);
    }

    @Test
    void peerLossIsNotReportedAsCause() throws Exception {
        RankOutcomes.Threw threw = new RankOutcomes.Threw(0, failure(true));
        client(secret).report(threw);
        assertThat(outcomes.firstFailure()).contains(threw);
        outcomes.exited(0, "exit code 1");
        outcomes.exited(1, "killed by signal 9 (SIGKILL)");
        assertThat(outcomes.firstFailure())
                .contains(new RankOutcomes.Died(1, "killed by signal 9 (SIGKILL)"));
    }

    @Test
    void ipv4AndIpv6AddressesAreParsed() {
        assertThat(FunctionServerAddresses.parse("10.0.0.7:4711,[fd00::7]:80"))
                .extracting(InetSocketAddress::getPort, it -> it.getAddress().getHostAddress())
                .containsExactly(tuple(4711, "10.0.0.7"), tuple(80, "fd00:0:0:0:0:0:0:7"));
    }
}
