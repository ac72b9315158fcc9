package org.horovod4j.process;

import static org.assertj.core.api.Assertions.assertThat;

import static java.nio.charset.StandardCharsets.US_ASCII;

import org.horovod4j.Hvd;
import org.horovod4j.Tensor;
import org.horovod4j.option.Options;
import org.horovod4j.option.RendezvousHost;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

import java.io.IOException;
import java.util.List;
import java.util.Set;

/// What a job shows to those who can read the network, and what it does when its processes disagree
/// about that.
class EncryptionIT {
    /// In the tensors, over links.
    private static final String WEIGHT = "WEIGHTS THAT NOBODY ELSE SHALL SEE ";

    /// On the cards of the ranks, over the rendezvous.
    private static final String HOST = "host-that-nobody-else-shall-see";

    private static final int REPEATS = 30_000;

    /// Sends the same tensor a few times, and tells how that ended.
    static final class Worker {
        private Worker() {}

        public static void main(String[] args) {
            Told.of(
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
    @CsvSource({"0, 1", "1, 1", "1, 4"})
    void encryptedJobsShowNothingOfTheirTensorsAndHosts(int tls, int streams) throws Exception {
        JobPlan plan =
                JobPlan.of(3, Worker.class)
                        .with(Options.TRANSPORT, "tcp")
                        .with(Options.TCP_STREAMS, Integer.toString(streams))
                        .with(Options.HOSTNAME, HOST)
                        .with(Options.TLS, Integer.toString(tls));
        try (Sniffer sniffer = new Sniffer(List.of(WEIGHT, HOST));
                Job job = plan.start()) {
            job.awaitSuccess();
            for (RankProcess rank : job.ranks()) {
                assertThat(rank.told("run").type()).isEqualTo(Told.WENT_WELL);
            }
            Set<String> expected = tls == 0 ? Set.of(WEIGHT, HOST) : Set.of();
            assertThat(sniffer.seen()).isEqualTo(expected);
            assertThat(sniffer.bytes()).isGreaterThan((long) REPEATS * WEIGHT.length());
        }
    }

    @ParameterizedTest(name = "HOROVOD_TLS={0} on rank 1 alone")
    @ValueSource(strings = {"0", "1"})
    void aRankThatDisagreesIsToldAtOnceAndSoIsTheOtherEnd(String tls) throws IOException {
        JobPlan plan =
                JobPlan.of(2, Worker.class)
                        .servedBy(RendezvousHost.RANK0)
                        .with(Options.START_TIMEOUT, "5")
                        .with(Options.TLS, tls.equals("0") ? "1" : "0")
                        .with(1, Options.TLS, tls);
        String there =
                tls.equals("0") ? "encrypts, while %s is off" : "does not encrypt, while %s is on";
        String here =
                tls.equals("0") ? "does not encrypt, while %s is on" : "encrypts, while %s is off";
        try (Job job = plan.start()) {
            job.awaitExits(job.ranks(), Job.PATIENCE);
            Told told = job.rank(1).told("run");
            assertThat(told.type()).isEqualTo("ConfigurationException");
            assertThat(told.message()).contains(there.formatted(Options.TLS));
            assertThat(job.rank(0).output()).containsOnlyOnce(here.formatted(Options.TLS));
        }
    }

    @Test
    void aKilledRankIsNamedAsWithoutEncryption() throws IOException {
        JobPlan plan =
                JobPlan.of(3, LossIT.Waiting.class, "1")
                        .with(Options.TRANSPORT, "tcp")
                        .with(Options.TLS, "1");
        try (Job job = plan.start()) {
            job.awaitLine("ready");
            job.rank(1).kill();
            List<RankProcess> others = job.othersThan(1);
            Losses.print("rank 1 of an encrypted job", job.awaitExits(others, Losses.LIMIT));
            for (RankProcess rank : others) {
                Losses.assertNames(rank.told("pending"), 1, JobPlan.HOST);
                Losses.assertNames(rank.told("next"), 1, JobPlan.HOST);
            }
        }
    }
}
