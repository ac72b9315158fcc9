package org.horovod4j.process;

import org.horovod4j.DataType;
import org.horovod4j.Handle;
import org.horovod4j.Hvd;
import org.horovod4j.ReduceOp;
import org.horovod4j.Shape;
import org.horovod4j.Tensor;
import org.horovod4j.option.Options;
import org.horovod4j.option.RendezvousHost;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

import java.io.IOException;
import java.util.List;

/// `kill -9` of one of three ranks, at work and at rest: the pending call of every other rank and
/// its next one fail soon, and say who was lost.
class LossIT {
    private static final int SIZE = 3;

    /// Sums 64 MiB again and again.
    static final class Summing {
        private Summing() {}

        public static void main(String[] args) {
            Hvd.init();
            Tensor tensor = Tensor.zeros(DataType.FLOAT32, Shape.of(16 << 20));
            Hvd.allreduce("first", tensor, ReduceOp.SUM);
            System.out.println("ready");
            Told.of(
                    "pending",
                    () -> {
                        while (true) {
                            Hvd.allreduce("again", tensor, ReduceOp.SUM);
                        }
                    });
            Told.of("next", () -> Hvd.barrier());
        }
    }

    /// Waits, in a collective and with another one queued behind it, for the rank named.
    static final class Waiting {
        private Waiting() {}

        public static void main(String[] args) {
            Hvd.init();
            if (Hvd.rank() == Integer.parseInt(args[0])) {
                System.out.println("ready");
                Cue.await();
                throw new IllegalStateException("this rank should have been killed");
            }
            Handle<Tensor> behind =
                    Hvd.allreduceAsync("first", Tensor.of(new float[7]), ReduceOp.SUM);
            System.out.println("ready");
            Told.of("queued", () -> Hvd.allreduce("second", new float[7], ReduceOp.SUM));
            Told.of("pending", () -> behind.join());
            Told.of("next", () -> Hvd.barrier());
        }
    }

    /// Does its own work, and no collective, until the test says so.
    static final class Computing {
        private Computing() {}

        public static void main(String[] args) {
            Hvd.init();
            Hvd.barrier();
            System.out.println("ready");
            Cue.await();
            Told.of("pending", () -> Hvd.allreduce("late", new float[7], ReduceOp.SUM));
            Told.of("next", () -> Hvd.barrier());
        }
    }

    @ParameterizedTest(name = "rank {0}, transport {1}, server in {2}")
    @CsvSource({
        "0, auto, RANK0", "0, auto, LAUNCHER", "1, auto, RANK0", "2, auto, LAUNCHER",
        "0, tcp, RANK0", "0, tcp, LAUNCHER", "1, tcp, LAUNCHER", "2, tcp, RANK0",
    })
    void inALargeAllreduce(int victim, String transport, RendezvousHost server) throws IOException {
        JobPlan plan = JobPlan.of(SIZE, Summing.class).with(Options.TRANSPORT, transport);
        try (Job job = plan.servedBy(server).start()) {
            job.awaitLine("ready");
            job.rank(victim).kill();
            assertOthersEnd(job, victim, "in an allreduce by " + transport);
        }
    }

    @ParameterizedTest(name = "rank {0}, transport {1}, server in {2}")
    @CsvSource({
        "0, auto, RANK0",
        "0, auto, LAUNCHER",
        "1, auto, RANK0",
        "2, tcp, LAUNCHER",
        "0, tcp, RANK0",
    })
    void whileTheOthersWaitForIt(int victim, String transport, RendezvousHost server)
            throws IOException {
        JobPlan plan =
                JobPlan.of(SIZE, Waiting.class, Integer.toString(victim))
                        .with(Options.TRANSPORT, transport);
        try (Job job = plan.servedBy(server).start()) {
            job.awaitLine("ready");
            job.rank(victim).kill();
            assertOthersEnd(job, victim, "awaited by " + transport);
            for (RankProcess rank : job.othersThan(victim)) {
                Losses.assertNames(rank.told("queued"), victim, JobPlan.HOST);
            }
        }
    }

    @ParameterizedTest(name = "rank {0}, transport {1}, server in {2}")
    @CsvSource({
        "0, auto, RANK0",
        "0, auto, LAUNCHER",
        "1, auto, LAUNCHER",
        "2, tcp, RANK0",
        "0, tcp, RANK0",
    })
    void whileAllCompute(int victim, String transport, RendezvousHost server) throws IOException {
        JobPlan plan = JobPlan.of(SIZE, Computing.class).with(Options.TRANSPORT, transport);
        try (Job job = plan.servedBy(server).start()) {
            job.awaitLine("ready");
            job.rank(victim).kill();
            for (RankProcess rank : job.othersThan(victim)) {
                rank.cue();
            }
            assertOthersEnd(job, victim, "computing, joined by " + transport);
        }
    }

    private static void assertOthersEnd(Job job, int victim, String where) {
        List<RankProcess> others = job.othersThan(victim);
        Losses.print(
                "rank %d killed %s".formatted(victim, where), job.awaitExits(others, Losses.LIMIT));
        for (RankProcess rank : others) {
            Losses.assertNames(rank.told("pending"), victim, JobPlan.HOST);
            Losses.assertNames(rank.told("next"), victim, JobPlan.HOST);
        }
    }
}
