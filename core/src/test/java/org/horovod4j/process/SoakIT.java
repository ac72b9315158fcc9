package org.horovod4j.process;

import static org.assertj.core.api.Assertions.assertThat;

import org.horovod4j.Hvd;
import org.horovod4j.ReduceOp;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Random;
import java.util.stream.Stream;

/// Random operations for a long time: results stay correct, and resource use does not grow.
@Tag("slow")
class SoakIT {
    /// `-Dsoak.seconds=…` for another length.
    private static final Duration LENGTH = Duration.ofSeconds(Long.getLong("soak.seconds", 600));

    private static final int RANKS = 8;
    private static final long MEBIBYTE = 1 << 20;

    /// The resources that a rank uses.
    ///
    /// @param heap bytes of the heap in use after a garbage collection
    /// @param resident bytes of resident memory
    private record Usage(long heap, long resident, long threads, long files) {
        static Usage now() {
            System.gc();
            try (Stream<Path> descriptors = Files.list(Path.of("/proc/self/fd"))) {
                return new Usage(
                        ManagementFactory.getMemoryMXBean().getHeapMemoryUsage().getUsed(),
                        residentBytes(),
                        ManagementFactory.getThreadMXBean().getThreadCount(),
                        descriptors.count());
            } catch (IOException e) {
                throw new IllegalStateException("no /proc to look at", e);
            }
        }

        private static long residentBytes() throws IOException {
            String line =
                    Files.readAllLines(Path.of("/proc/self/status")).stream()
                            .filter(each -> each.startsWith("VmRSS:"))
                            .findFirst()
                            .orElseThrow();
            return Long.parseLong(line.replaceAll("\\D", "")) * 1024;
        }

        String line() {
            return "usage %d %d %d %d".formatted(heap, resident, threads, files);
        }

        static Usage parse(String line) {
            List<Long> numbers = Stream.of(line.split(" ")).skip(1).map(Long::valueOf).toList();
            return new Usage(numbers.get(0), numbers.get(1), numbers.get(2), numbers.get(3));
        }
    }

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
                System.out.println(Usage.now().line());
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
                List<Usage> usages =
                        rank.lines().stream()
                                .filter(line -> line.startsWith("usage "))
                                .map(Usage::parse)
                                .toList();
                assertFlat(usages.getFirst(), usages.getLast());
            }
        }
    }

    /// Code, classes and shared memory are touched late, but then stop growing. A leak does not.
    private static void assertFlat(Usage early, Usage late) {
        assertThat(late.heap()).as("heap").isLessThan(early.heap() + 4 * MEBIBYTE);
        assertThat(late.resident())
                .as("resident memory")
                .isLessThan(early.resident() + 48 * MEBIBYTE);
        assertThat(late.threads()).as("threads").isLessThanOrEqualTo(early.threads() + 1);
        assertThat(late.files()).as("files").isLessThanOrEqualTo(early.files() + 4);
    }
}
