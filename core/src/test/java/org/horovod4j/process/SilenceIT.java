package org.horovod4j.process;

import static org.assertj.core.api.Assertions.assertThat;

import org.horovod4j.Hvd;
import org.horovod4j.ReduceOp;
import org.horovod4j.option.Options;
import org.horovod4j.option.RendezvousHost;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

import java.io.IOException;
import java.util.List;

/// A rank that is stopped but not dead: nothing closes its connections, it just says nothing.
class SilenceIT {
    /// Sums until it cannot.
    static final class Worker {
        private Worker() {}

        public static void main(String[] args) {
            Hvd.init();
            float[] values = new float[10_007];
            Hvd.allreduce("values", values, ReduceOp.SUM);
            System.out.println("ready");
            Told.of(
                    "pending",
                    () -> {
                        while (true) {
                            Hvd.allreduce("values", values, ReduceOp.SUM);
                        }
                    });
        }
    }

    @ParameterizedTest(name = "rank {0}, transport {1}, server in {2}")
    @CsvSource({"1, auto, LAUNCHER", "2, tcp, RANK0", "0, auto, RANK0", "0, tcp, LAUNCHER"})
    void aSilentRankIsGivenUpAndLearnsSoWhenItWakes(
            int victim, String transport, RendezvousHost server) throws IOException {
        JobPlan plan =
                JobPlan.of(3, Worker.class)
                        .with(Options.TRANSPORT, transport)
                        .with(Options.HEARTBEAT_TIMEOUT, "2")
                        .servedBy(server);
        try (Job job = plan.start()) {
            job.awaitLine("ready");
            RankProcess frozen = job.rank(victim);
            frozen.freeze();
            List<RankProcess> others = job.othersThan(victim);
            Losses.print("rank " + victim + " stopped", job.awaitExits(others, Losses.LIMIT));
            for (RankProcess rank : others) {
                Told told = rank.told("pending");
                Losses.assertNames(told, victim, JobPlan.HOST);
                assertThat(told.message()).contains("silent for 2 s");
            }

            frozen.thaw();
            job.awaitExits(List.of(frozen), Losses.LIMIT);
            Told told = frozen.told("pending");
            assertThat(told.type()).as(told.message()).isEqualTo("PeerLostException");
            if (server == RendezvousHost.LAUNCHER || victim != 0) {
                assertThat(told.lostRank()).as(told.message()).isEqualTo(victim);
                assertThat(told.message()).contains("the other ranks gave it up");
            }
        }
    }
}
