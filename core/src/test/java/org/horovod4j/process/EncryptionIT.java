package org.horovod4j.process;

import static org.assertj.core.api.Assertions.assertThat;

import static java.nio.charset.StandardCharsets.US_ASCII;

import org.horovod4j.Hvd;
import org.horovod4j.Tensor;
import org.horovod4j.option.Options;
import org.horovod4j.option.RendezvousHost;
import org.horovod4j.testsupport.SlowCases;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

import java.io.IOException;
import java.util.List;
import java.util.Set;

/// What a job reveals on the network, and how it fails if its processes disagree about encryption.
class EncryptionIT {
    /// A text in the tensors, sent over links.
    private static final String WEIGHT = "WEIGHTS THAT MUST STAY SECRET ";

    /// A text in what ranks publish when they join, sent over the rendezvous.
    private static final String HOST = "host-that-must-stay-secret";

    private static final int REPEATS = 30_000;

    /// Broadcasts the same tensor a few times, and reports the result.
    static final class Worker {
        private Worker() {}

        public static void main(String[] args) {
            System.out.println("begun");
            CallResult.report(
                    "run",
                    () -> {
                        Hvd.init();
                        byte[] mine =
                                Hvd.rank() == 0
                                        ? WEIGHT.repeat(REPEATS).getBytes(US_ASCII)
                                        : new byte[REPEATS * WEIGHT.length()];
                        for (int step = 0; step < 5; step++) {
                            Hvd.communicator().broadcast("weights", Tensor.of(mine), 0);
                        }
                        assertThat(new String(mine, US_ASCII)).isEqualTo(WEIGHT.repeat(REPEATS));
                        Hvd.shutdown();
                    });
        }
    }

    @ParameterizedTest(name = "HOROVOD_TLS={0}, {1} streams")
    @CsvSource({"0, 1", "1, 4"})
    @SlowCases("1, 1")
    void encryptedTrafficHidesTensorsAndHosts(int tls, int streams) throws Exception {
        TestJobPlan plan =
                TestJobPlan.of(3, Worker.class)
                        .with(Options.TRANSPORT, "tcp")
                        .with(Options.TCP_STREAMS, Integer.toString(streams))
                        .with(Options.HOSTNAME, HOST)
                        .with(Options.TLS, Integer.toString(tls));
        try (PacketSniffer packetSniffer = new PacketSniffer(List.of(WEIGHT, HOST));
                TestJob testJob = plan.start()) {
            testJob.awaitSuccess();
            for (TestRankProcess rank : testJob.ranks()) {
                assertThat(rank.callResult("run").type()).isEqualTo(CallResult.WENT_WELL);
            }
            Set<String> expected = tls == 0 ? Set.of(WEIGHT, HOST) : Set.of();
            assertThat(packetSniffer.seen()).isEqualTo(expected);
            assertThat(packetSniffer.bytes()).isGreaterThan((long) REPEATS * WEIGHT.length());
        }
    }

    @ParameterizedTest(name = "HOROVOD_TLS={0} on rank 1 alone")
    @ValueSource(strings = {"0", "1"})
    void encryptionMismatchFailsTheJoiningRankAndIsLogged(String tls) throws IOException {
        TestJobPlan plan =
                TestJobPlan.of(2, Worker.class)
                        .servedBy(RendezvousHost.RANK0)
                        .with(Options.TLS, tls.equals("0") ? "1" : "0")
                        .with(1, Options.TLS, tls);
        String there =
                tls.equals("0") ? "encrypts, while %s is off" : "does not encrypt, while %s is on";
        String here =
                tls.equals("0") ? "does not encrypt, while %s is on" : "encrypts, while %s is off";
        try (TestJob testJob = plan.prepare()) {
            testJob.start(0).awaitLine("begun");
            TestRankProcess refused = testJob.start(1);
            testJob.awaitExits(List.of(refused), TestJob.TIMEOUT);
            CallResult callResult = refused.callResult("run");
            assertThat(callResult.type()).isEqualTo("ConfigurationException");
            assertThat(callResult.message()).contains(there.formatted(Options.TLS));
            testJob.rank(0).awaitWords(here.formatted(Options.TLS));
            assertThat(testJob.rank(0).output()).containsOnlyOnce(here.formatted(Options.TLS));
        }
    }

    @Test
    void killedRankIsNamedWithEncryption() throws IOException {
        TestJobPlan plan =
                TestJobPlan.of(3, RankKilledIT.WaitingWorker.class, "1")
                        .with(Options.TRANSPORT, "tcp")
                        .with(Options.TLS, "1");
        try (TestJob testJob = plan.start()) {
            testJob.awaitLine("ready");
            testJob.rank(1).kill();
            List<TestRankProcess> others = testJob.othersThan(1);
            PeerLossAssertions.print(
                    "rank 1 of an encrypted job",
                    testJob.awaitExits(others, PeerLossAssertions.LIMIT));
            for (TestRankProcess rank : others) {
                PeerLossAssertions.assertNamesLostRank(
                        rank.callResult("pending"), 1, TestJobPlan.HOST);
                PeerLossAssertions.assertNamesLostRank(
                        rank.callResult("next"), 1, TestJobPlan.HOST);
            }
        }
    }
}
