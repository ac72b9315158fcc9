package org.horovod4j.process;

import static org.assertj.core.api.Assertions.assertThat;

import org.horovod4j.Hvd;
import org.horovod4j.ReduceOp;
import org.junit.jupiter.api.Test;

import java.io.IOException;
import java.util.List;

/// Two hosts of two ranks each: shared memory within, sockets between.
class HostsIT {
    /// Runs every collective and then sums until a rank is lost, or the test says that it is
    /// enough.
    static final class Worker {
        private Worker() {}

        public static void main(String[] args) {
            Hvd.init();
            new EveryCollective(Hvd.communicator()).run();
            System.out.println(
                    "%d of %d on host %d of %d"
                            .formatted(
                                    Hvd.localRank(),
                                    Hvd.localSize(),
                                    Hvd.crossRank(),
                                    Hvd.crossSize()));
            float[] values = new float[100_003];
            Told.of(
                    "pending",
                    () -> {
                        boolean enough = false;
                        while (!enough) {
                            values[0] = Cue.hasCome() ? 1 : 0;
                            Hvd.allreduce("values", values, ReduceOp.MAX);
                            enough = values[0] > 0;
                        }
                    });
        }
    }

    @Test
    void memoryWithinAHostAndSocketsBetweenHosts() throws IOException {
        try (PretendedHost alpha = new PretendedHost();
                PretendedHost beta = new PretendedHost();
                Job job = plan(alpha, beta).start()) {
            for (RankProcess rank : job.ranks()) {
                rank.awaitLine(
                        "%d of 2 on host %d of 2".formatted(rank.rank() % 2, rank.rank() / 2));
            }
            for (RankProcess rank : job.ranks()) {
                assertThat(TcpSockets.of(rank.pid()).established())
                        .as(
                                "connections of rank %d, more than the one of a single host",
                                rank.rank())
                        .hasSizeGreaterThan(1);
            }
            job.rank(0).cue();
            job.awaitSuccess();
            assertThat(job.ranks())
                    .extracting(rank -> rank.told("pending").type())
                    .containsOnly(Told.WENT_WELL);
        }
    }

    @Test
    void aLossOnOneHostIsKnownOnBoth() throws IOException {
        try (PretendedHost alpha = new PretendedHost();
                PretendedHost beta = new PretendedHost();
                Job job = plan(alpha, beta).start()) {
            for (RankProcess rank : job.ranks()) {
                rank.awaitLine("%d of 2".formatted(rank.rank() % 2));
            }
            job.rank(3).kill();
            List<RankProcess> others = job.othersThan(3);
            Losses.print("rank 3 of two hosts", job.awaitExits(others, Losses.LIMIT));
            for (RankProcess rank : others) {
                Losses.assertNames(rank.told("pending"), 3, "beta");
            }
        }
    }

    private static JobPlan plan(PretendedHost alpha, PretendedHost beta) {
        return JobPlan.of(4, Worker.class).on(alpha, beta);
    }
}
