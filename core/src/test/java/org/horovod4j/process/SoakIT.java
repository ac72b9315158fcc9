package org.horovod4j.process;

import org.horovod4j.Hvd;
import org.horovod4j.ReduceOp;
import org.horovod4j.testsupport.ResourceUsage;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

import java.io.IOException;
import java.time.Duration;
import java.util.List;
import java.util.Random;

/// Random operations for a long time: results stay correct, and resource use does not grow.
@Tag("slow")
class SoakIT {
    /// `-Dsoak.seconds=…` for another length.
    private static final Duration LENGTH = Duration.ofSeconds(Long.getLong("soak.seconds", 600));

    private static final int RANKS = 8;

    /// Runs for the given time, and prints its resource use after each fifth of it.
    static final class Worker {
        private Worker() {}

        public static void main(String[] args) {
            Hvd.init();
            Duration fifth = Duration.ofSeconds(Long.parseLong(args[0])).dividedBy(5);
            RandomOperations rounds =
                    new RandomOperations(Hvd.communicator(), Long.parseLong(args[1]));
            long begin = System.nanoTime();
            int count = 0;
            for (int part = 1; part <= 5; part++) {
                do {
                    rounds.round();
                    count++;
                } while (!isOver(begin + part * fifth.toNanos()));
                System.out.println("part %d: %d rounds so far".formatted(part, count));
                System.out.println(ResourceUsage.now().line());
            }
            Hvd.shutdown();
        }

        /// The clock of rank 0 decides for all ranks.
        private static boolean isOver(long deadline) {
            float[] over = {Hvd.rank() == 0 && System.nanoTime() - deadline > 0 ? 1 : 0};
            Hvd.allreduce("over", over, ReduceOp.MAX);
            return over[0] > 0;
        }
    }

    @Test
    void memoryStaysFlat() throws IOException {
        long seed = new Random().nextLong(1_000_000);
        System.out.println("seed " + seed);
        TestJobPlan plan =
                TestJobPlan.of(
                                RANKS,
                                Worker.class,
                                Long.toString(LENGTH.toSeconds()),
                                Long.toString(seed))
                        .compiledFully();
        for (int rank = 0; rank < RANKS; rank++) {
            // All of the heap at once, or it would grow as the JVM likes.
            plan.withJvmOption(rank, "-Xms256m -XX:+AlwaysPreTouch");
        }
        try (TestJob testJob = plan.start()) {
            testJob.awaitExits(testJob.ranks(), LENGTH.plus(TestJob.TIMEOUT).plus(TestJob.TIMEOUT));
            testJob.awaitSuccess();
            System.out.println(testJob.output());
            for (TestRankProcess rank : testJob.ranks()) {
                List<ResourceUsage> usages =
                        rank.lines().stream()
                                .filter(line -> line.startsWith("usage "))
                                .map(ResourceUsage::parse)
                                .toList();
                usages.getLast().assertFlatSince(usages.getFirst());
            }
        }
    }
}
