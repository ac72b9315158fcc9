package org.horovod4j.process;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import org.horovod4j.Hvd;
import org.horovod4j.ReduceOp;
import org.horovod4j.option.Options;
import org.horovod4j.option.RendezvousHost;
import org.horovod4j.option.RuntimeOptions;
import org.horovod4j.trust.Secret;
import org.junit.jupiter.api.RepeatedTest;
import org.junit.jupiter.api.RepetitionInfo;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

import java.io.IOException;
import java.time.Duration;
import java.util.Random;

/// What can go wrong while the ranks meet.
class StartIT {
    private static final int SIZE = 3;

    /// Longer than a rank takes to join and measure its links on a quiet machine.
    private static final int START_MILLIS = 600;

    /// Joins, works and tells how that ended.
    static final class Worker {
        private Worker() {}

        public static void main(String[] args) {
            System.out.println("begun");
            Told.of(
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
    @CsvSource({"0, LAUNCHER", "1, LAUNCHER", "1, RANK0"})
    void aRankIsKilledBeforeTheLastHasCome(int victim, RendezvousHost server) throws IOException {
        try (ServerLog log = ServerLog.open();
                Job job = plan(server).prepare()) {
            startAndSeat(job, 0, server, log);
            startAndSeat(job, 1, server, log);
            job.rank(victim).kill();
            RankProcess survivor = job.othersThan(victim).getFirst();
            if (server == RendezvousHost.LAUNCHER) {
                RankProcess late = job.start(2);
                assertOthersName(job, victim);
                assertThat(late.told("start").message()).contains("joining the job as rank 2");
            } else {
                assertOthersName(job, victim);
            }
            assertThat(survivor.told("start").message()).contains("joining the job as rank");
        }
    }

    @Test
    void theRankThatServesIsKilledBeforeTheLastHasCome() throws IOException {
        RendezvousHost server = RendezvousHost.RANK0;
        try (ServerLog log = ServerLog.open();
                Job job = plan(server).prepare()) {
            startAndSeat(job, 0, server, log);
            RankProcess survivor = startAndSeat(job, 1, server, log);
            job.rank(0).kill();
            job.awaitExits(job.othersThan(0), Losses.LIMIT);
            // Hosts are told when all have met; until then the address is all that is known.
            Losses.assertNames(survivor.told("start"), 0, "127.0.0.1");
        }
    }

    /// Whatever a rank was about when it died (reading options, making shared memory, joining,
    /// mapping the others' memory, measuring links), the others name it.
    @RepeatedTest(8)
    void aRankIsKilledAtSomeMoment(RepetitionInfo repetition) throws IOException {
        long seed = System.nanoTime();
        Random random = new Random(seed);
        int victim = random.nextInt(SIZE);
        long delayMillis = random.nextInt(START_MILLIS);
        boolean tcp = repetition.getCurrentRepetition() % 2 == 0;
        System.out.println(
                "seed %d: kill rank %d after %d ms, %s"
                        .formatted(seed, victim, delayMillis, tcp ? "tcp" : "auto"));
        JobPlan plan = JobPlan.of(SIZE, Worker.class).with(Options.TRANSPORT, tcp ? "tcp" : "auto");
        try (Job job = plan.start()) {
            job.rank(victim).awaitLine("begun");
            long start = System.nanoTime();
            await().pollInterval(Duration.ofMillis(1))
                    .until(() -> System.nanoTime() - start > delayMillis * 1_000_000);
            job.rank(victim).kill();
            assertOthersEnd(job, victim);
        }
    }

    @Test
    void aWrongSecretIsRefusedAndTheMissingRankIsNamed() throws IOException {
        JobPlan plan =
                JobPlan.of(SIZE, Worker.class)
                        .servedBy(RendezvousHost.RANK0)
                        .with(Options.START_TIMEOUT, "5")
                        .with(2, Options.SECRET_KEY, Secret.random().encode());
        try (Job job = plan.start()) {
            job.awaitExits(job.ranks(), Job.PATIENCE);
            for (RankProcess rank : job.ranks()) {
                assertThat(rank.told("start").type()).isEqualTo("ConfigurationException");
            }
            assertThat(job.rank(2).told("start").message())
                    .contains("joining the job as rank 2", "secret");
            for (RankProcess rank : job.othersThan(2)) {
                assertThat(rank.told("start").message())
                        .contains("after 5 s, rank 2 of 3 had not come");
            }
            assertThat(job.rank(0).output()).containsOnlyOnce("does not know the job's secret");
        }
    }

    @Test
    void aLauncherDoesNotWaitForARankThatHasEnded() throws IOException {
        JobPlan plan =
                JobPlan.of(SIZE, Worker.class)
                        .with(2, Options.SECRET_KEY, Secret.random().encode());
        try (Job job = plan.start()) {
            job.awaitExits(job.ranks(), Losses.LIMIT);
            for (RankProcess rank : job.othersThan(2)) {
                assertThat(rank.told("start").lostRank()).isEqualTo(2);
                assertThat(rank.told("start").message())
                        .contains("exit code 0, before it had joined");
            }
        }
    }

    /// One whose server tells, in whichever process it is, who has come.
    private static JobPlan plan(RendezvousHost server) {
        return JobPlan.of(SIZE, Worker.class)
                .servedBy(server)
                .with(RuntimeOptions.LOG_LEVEL, "debug");
    }

    /// Starts a rank and waits for the server's word that it has come: the rank's own could be on
    /// its way still when it is killed.
    private static RankProcess startAndSeat(Job job, int rank, RendezvousHost server, ServerLog log)
            throws IOException {
        RankProcess started = job.start(rank);
        String words = "rank %d of %d has come".formatted(rank, SIZE);
        switch (server) {
            case LAUNCHER -> log.awaitWords(words);
            case RANK0 -> job.rank(0).awaitWords(words);
        }
        return started;
    }

    private static void assertOthersName(Job job, int victim) {
        job.awaitExits(job.othersThan(victim), Losses.LIMIT);
        for (RankProcess rank : job.othersThan(victim)) {
            Losses.assertNames(rank.told("start"), victim, JobPlan.HOST);
        }
    }

    private static void assertOthersEnd(Job job, int victim) {
        job.awaitExits(job.othersThan(victim), Losses.LIMIT);
        for (RankProcess rank : job.othersThan(victim)) {
            Told told = rank.told("start");
            assertThat(told.type()).as(told.message()).isEqualTo("PeerLostException");
            assertThat(told.lostRank()).as(told.message()).isEqualTo(victim);
        }
    }
}
