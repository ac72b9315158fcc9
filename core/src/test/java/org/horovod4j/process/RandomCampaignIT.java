package org.horovod4j.process;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assertions.assertTimeoutPreemptively;

import org.horovod4j.Hvd;
import org.horovod4j.runtime.fuzz.FuzzWorld;
import org.horovod4j.testing.Layout;
import org.horovod4j.testing.RandomWorkload;
import org.horovod4j.testing.World.Transport;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

import java.io.IOException;
import java.time.Duration;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.locks.LockSupport;

/// Random programs, one after the other, for `-Dhorovod4j.campaign.seconds` (default 1800). Each has
/// its own seed, which is printed before it starts.
///
/// `-Dhorovod4j.campaign.seed` sets the seed of the first program; each later one has the next. So
/// the seed of a failed program repeats it at once.
@Tag("slow")
class RandomCampaignIT {
    private static final Duration LENGTH =
            Duration.ofSeconds(Long.getLong("horovod4j.campaign.seconds", 1800));
    private static final long FIRST_SEED =
            Long.getLong("horovod4j.campaign.seed", new Random().nextLong(1_000_000_000));

    /// Only a program that hangs takes this long.
    private static final Duration PROGRAM_LIMIT = Duration.ofMinutes(5);

    private static final int FUZZ_STEPS = 100;
    private static final int OPERATIONS = 60;
    private static final int MOST_ELEMENTS = 200_000;
    private static final int ROUNDS = 40;

    private enum ProgramKind {
        /// All collectives, joins, process sets, mismatches and changes of a plan, from several
        /// threads.
        PLAN,
        /// All collectives, data types, reductions and kinds of memory.
        OPERATIONS,
        /// Random rounds in processes.
        PROCESSES,
        /// The same; one process fails, and the others name it.
        FAULT
    }

    /// How a process fails.
    private enum Fault {
        KILL,
        EXIT,
        HALT,
        THROW,
        SHUTDOWN
    }

    /// Runs random rounds. One rank may fail in one of them.
    static final class Worker {
        private Worker() {}

        /// Runs one rank. The arguments are the seed, the number of rounds, the rank that fails or -1,
        /// the round in which it fails, and how.
        public static void main(String[] args) {
            Hvd.init();
            RandomOperations rounds =
                    new RandomOperations(Hvd.communicator(), Long.parseLong(args[0]));
            boolean fails = Hvd.rank() == Integer.parseInt(args[2]);
            for (int round = 0; round < Integer.parseInt(args[1]); round++) {
                if (fails && round == Integer.parseInt(args[3])) {
                    fail(Fault.valueOf(args[4]));
                    return;
                }
                rounds.round();
            }
            Hvd.shutdown();
        }

        private static void fail(Fault fault) {
            switch (fault) {
                case KILL -> {
                    System.out.println("kill me");
                    while (true) {
                        LockSupport.park();
                    }
                }
                case EXIT -> System.exit(0);
                case HALT -> Runtime.getRuntime().halt(3);
                case THROW -> throw new IllegalStateException("a random fault");
                case SHUTDOWN -> Hvd.shutdown();
            }
        }
    }

    @Test
    void everyProgramEndsAsItShould() {
        Map<ProgramKind, Integer> counts = new EnumMap<>(ProgramKind.class);
        long start = System.nanoTime();
        for (long seed = FIRST_SEED; System.nanoTime() - start < LENGTH.toNanos(); seed++) {
            ProgramKind programKind = programKind(seed);
            System.out.println("campaign: seed %d, %s".formatted(seed, programKind));
            long current = seed;
            assertTimeoutPreemptively(
                    PROGRAM_LIMIT,
                    () -> run(programKind, current),
                    () -> "program of seed " + current);
            counts.merge(programKind, 1, Integer::sum);
        }
        System.out.println(
                "campaign: seeds from %d, %d s: %s"
                        .formatted(FIRST_SEED, LENGTH.toSeconds(), counts));
        assertThat(counts).isNotEmpty();
    }

    private static ProgramKind programKind(long seed) {
        ProgramKind[] all = ProgramKind.values();
        return all[Math.floorMod(seed, all.length)];
    }

    private static void run(ProgramKind programKind, long seed) throws IOException {
        try {
            switch (programKind) {
                case PLAN -> FuzzWorld.of(seed).run(FUZZ_STEPS);
                case OPERATIONS -> runOperations(seed);
                case PROCESSES -> runProcesses(seed);
                case FAULT -> runWithFault(seed);
            }
        } catch (RuntimeException | Error e) {
            throw new AssertionError("program of seed " + seed, e);
        }
    }

    private static void runOperations(long seed) {
        Random random = new Random(seed);
        int size = 1 + random.nextInt(8);
        Transport transport = Transport.values()[random.nextInt(Transport.values().length)];
        int hosts = transport == Transport.TCP ? 1 : 1 + random.nextInt(Math.min(size, 4));
        RandomWorkload workload = RandomWorkload.of(seed, size, OPERATIONS, MOST_ELEMENTS);
        new Layout(size, hosts, transport).world().run(workload::run);
    }

    private static void runProcesses(long seed) throws IOException {
        try (TestJob testJob = plan(seed, new Random(seed), -1, 0, Fault.EXIT).start()) {
            testJob.awaitSuccess();
        }
    }

    private static void runWithFault(long seed) throws IOException {
        Random random = new Random(seed);
        int failing = random.nextInt(2);
        Fault fault = Fault.values()[random.nextInt(Fault.values().length)];
        try (TestJob testJob = plan(seed, random, failing, random.nextInt(ROUNDS), fault).start()) {
            if (fault == Fault.KILL) {
                testJob.rank(failing).awaitLine("kill me");
                testJob.rank(failing).kill();
            }
            List<TestRankProcess> others = testJob.othersThan(failing);
            testJob.awaitExits(others, TestJob.TIMEOUT);
            assertThat(others)
                    .as(() -> "%s of rank %d\n%s".formatted(fault, failing, testJob.output()))
                    .allSatisfy(
                            rank -> {
                                assertThat(rank.exitCode()).isOne();
                                assertThat(rank.output())
                                        .containsPattern("rank %d (on|\\()".formatted(failing));
                            });
        }
    }

    private static TestJobPlan plan(long seed, Random random, int failing, int round, Fault fault) {
        return TestJobPlan.of(
                        2 + random.nextInt(4),
                        Worker.class,
                        Long.toString(seed),
                        Integer.toString(ROUNDS),
                        Integer.toString(failing),
                        Integer.toString(round),
                        fault.name())
                .compiledFully();
    }
}
