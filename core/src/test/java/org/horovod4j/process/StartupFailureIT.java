package org.horovod4j.process;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import org.horovod4j.Hvd;
import org.horovod4j.ReduceOp;
import org.horovod4j.option.Options;
import org.horovod4j.option.RendezvousHost;
import org.horovod4j.option.RuntimeOptions;
import org.horovod4j.security.Secret;
import org.horovod4j.testsupport.SlowCases;
import org.junit.jupiter.api.RepeatedTest;
import org.junit.jupiter.api.RepetitionInfo;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

import java.io.IOException;
import java.time.Duration;
import java.util.Random;

/// Failures while the ranks join.
class StartupFailureIT {
    private static final int SIZE = 3;

    /// Longer than a rank takes to join and measure its links on a quiet machine.
    private static final int START_MILLIS = 600;

    /// How long ranks that still start may take to exit. Shorter than the start timeout: they must
    /// not wait for that.
    private static final Duration START_LIMIT = Duration.ofSeconds(45);

    /// Joins, sums until a call fails, and reports the failure.
    static final class Worker {
        private Worker() {}

        public static void main(String[] args) {
            System.out.println("begun");
            CallResult.report(
                    "start",
                    () -> {
                        Hvd.init();
                        while (true) {
                            Hvd.allreduce("sum", new float[10_007], ReduceOp.SUM);
                        }
                    });
        }
    }

    @ParameterizedTest(name = "rank {0}, server in {1}")
    @CsvSource({"0, LAUNCHER", "1, RANK0"})
    @SlowCases("1, LAUNCHER")
    void rankKilledBeforeLastJoinIsNamed(int victim, RendezvousHost server) throws IOException {
        try (ServerLog log = ServerLog.open();
                TestJob testJob = plan(server).prepare()) {
            startAndSeat(testJob, 0, server, log);
            startAndSeat(testJob, 1, server, log);
            testJob.rank(victim).kill();
            TestRankProcess survivor = testJob.othersThan(victim).getFirst();
            if (server == RendezvousHost.LAUNCHER) {
                TestRankProcess late = testJob.start(2);
                assertOthersName(testJob, victim);
                assertThat(late.callResult("start").message())
                        .contains("joining the job as rank 2");
            } else {
                assertOthersName(testJob, victim);
            }
            assertThat(survivor.callResult("start").message()).contains("joining the job as rank");
        }
    }

    @Test
    void serverRankKilledBeforeLastJoinIsNamed() throws IOException {
        RendezvousHost server = RendezvousHost.RANK0;
        try (ServerLog log = ServerLog.open();
                TestJob testJob = plan(server).prepare()) {
            startAndSeat(testJob, 0, server, log);
            TestRankProcess survivor = startAndSeat(testJob, 1, server, log);
            testJob.rank(0).kill();
            testJob.awaitExits(testJob.othersThan(0), PeerLossAssertions.LIMIT);
            // Ranks learn the host names when all have joined. Until then only the address is
            // known.
            PeerLossAssertions.assertNamesLostRank(survivor.callResult("start"), 0, "127.0.0.1");
        }
    }

    /// The others name the killed rank, whatever it was doing: reading options, creating shared
    /// memory, joining, mapping the memory of others, or measuring links.
    @RepeatedTest(4)
    void rankKilledAtRandomStartupMomentIsNamed(RepetitionInfo repetition) throws IOException {
        long seed = System.nanoTime();
        Random random = new Random(seed);
        int victim = random.nextInt(SIZE);
        long delayMillis = random.nextInt(START_MILLIS);
        boolean tcp = repetition.getCurrentRepetition() % 2 == 0;
        System.out.println(
                "seed %d: kill rank %d after %d ms, %s"
                        .formatted(seed, victim, delayMillis, tcp ? "tcp" : "auto"));
        TestJobPlan plan =
                TestJobPlan.of(SIZE, Worker.class).with(Options.TRANSPORT, tcp ? "tcp" : "auto");
        try (TestJob testJob = plan.start()) {
            testJob.rank(victim).awaitLine("begun");
            long start = System.nanoTime();
            await().pollInterval(Duration.ofMillis(1))
                    .until(() -> System.nanoTime() - start > delayMillis * 1_000_000);
            testJob.rank(victim).kill();
            assertOthersEnd(testJob, victim);
        }
    }

    @Test
    void aWrongSecretIsRefusedAndTheMissingRankIsNamed() throws IOException {
        TestJobPlan plan =
                TestJobPlan.of(SIZE, Worker.class)
                        .servedBy(RendezvousHost.RANK0)
                        .with(0, Options.START_TIMEOUT, "10")
                        .with(2, Options.SECRET_KEY, Secret.random().encode());
        try (TestJob testJob = plan.prepare()) {
            testJob.start(1);
            testJob.start(2);
            testJob.awaitLine("begun");
            testJob.start(0); // last, because it waits for 10 s only
            testJob.awaitExits(testJob.ranks(), TestJob.TIMEOUT);
            for (TestRankProcess rank : testJob.ranks()) {
                assertThat(rank.callResult("start").type()).isEqualTo("ConfigurationException");
            }
            assertThat(testJob.rank(2).callResult("start").message())
                    .contains("joining the job as rank 2", "secret");
            for (TestRankProcess rank : testJob.othersThan(2)) {
                assertThat(rank.callResult("start").message())
                        .contains("after 10 s, rank 2 of 3 had not joined");
            }
            assertThat(testJob.rank(0).output()).containsOnlyOnce("does not know the job's secret");
        }
    }

    @Test
    void launcherDoesNotWaitForExitedRank() throws IOException {
        TestJobPlan plan =
                TestJobPlan.of(SIZE, Worker.class)
                        .with(2, Options.SECRET_KEY, Secret.random().encode());
        try (TestJob testJob = plan.start()) {
            testJob.awaitExits(testJob.ranks(), START_LIMIT);
            for (TestRankProcess rank : testJob.othersThan(2)) {
                assertThat(rank.callResult("start").lostRank()).isEqualTo(2);
                assertThat(rank.callResult("start").message())
                        .contains("exit code 0, before it had joined");
            }
        }
    }

    /// A job whose server logs which ranks have joined, in any process.
    private static TestJobPlan plan(RendezvousHost server) {
        return TestJobPlan.of(SIZE, Worker.class)
                .servedBy(server)
                .with(RuntimeOptions.LOG_LEVEL, "debug");
    }

    /// Starts a rank and waits until the server logs that it has joined. The rank's own log line
    /// could come before the server has its message.
    private static TestRankProcess startAndSeat(
            TestJob testJob, int rank, RendezvousHost server, ServerLog log) throws IOException {
        TestRankProcess started = testJob.start(rank);
        String words = "rank %d of %d has joined".formatted(rank, SIZE);
        switch (server) {
            case LAUNCHER -> log.awaitWords(words);
            case RANK0 -> testJob.rank(0).awaitWords(words);
        }
        return started;
    }

    private static void assertOthersName(TestJob testJob, int victim) {
        testJob.awaitExits(testJob.othersThan(victim), START_LIMIT);
        for (TestRankProcess rank : testJob.othersThan(victim)) {
            PeerLossAssertions.assertNamesLostRank(
                    rank.callResult("start"), victim, TestJobPlan.HOST);
        }
    }

    private static void assertOthersEnd(TestJob testJob, int victim) {
        testJob.awaitExits(testJob.othersThan(victim), START_LIMIT);
        for (TestRankProcess rank : testJob.othersThan(victim)) {
            CallResult callResult = rank.callResult("start");
            assertThat(callResult.type()).as(callResult.message()).isEqualTo("PeerLostException");
            assertThat(callResult.lostRank()).as(callResult.message()).isEqualTo(victim);
        }
    }
}
