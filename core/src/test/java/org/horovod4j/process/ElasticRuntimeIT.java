package org.horovod4j.process;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import org.horovod4j.testsupport.SlowCases;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/// Workers join and leave while they train. Those that remain end with the weights of a training
/// without faults: every sample has contributed once in each epoch.
class ElasticRuntimeIT {
    private static final Pattern STEP = Pattern.compile("step (\\d+) of generation (\\d+)");

    @Test
    void trainingWithoutFailureSucceeds() throws Exception {
        try (ElasticTestJob job = new ElasticTestJob(2)) {
            TestRankProcess first = job.start();
            TestRankProcess second = job.start();
            job.awaitResult(first, second);
            assertThat(steps(first)).as("2 epochs of 240 samples, 8 in a step").hasSize(60);
            assertThat(steps(first)).isEqualTo(steps(second));
        }
    }

    /// Where the victim is killed: while the others are in the allreduce, in the check for hosts
    /// after a commit, or in the broadcast of the state.
    @ParameterizedTest(name = "worker {0} in {1}")
    @CsvSource({"0, allreduce@3", "2, commit@3", "1, sync@0"})
    @SlowCases({"1, allreduce@3", "0, sync@0"})
    void killedWorkerIsSurvived(int victim, String moment) throws Exception {
        try (ElasticTestJob job = new ElasticTestJob(3)) {
            for (int i = 0; i < 3; i++) {
                job.start(i == victim ? "hold=" + moment : "");
            }
            job.worker(victim).awaitLine("holding");
            job.worker(victim).kill();
            job.awaitResult(job.worker((victim + 1) % 3), job.worker((victim + 2) % 3));
        }
    }

    @ParameterizedTest(name = "worker {0}")
    @ValueSource(ints = 0)
    @SlowCases("2")
    void workerKilledDuringRendezvousIsExcluded(int victim) throws Exception {
        try (ElasticTestJob job = new ElasticTestJob(3)) {
            job.assignWithoutNotifying(victim);
            for (int i = 0; i < 3; i++) {
                job.start();
            }
            int other = (victim + 1) % 3;
            job.worker(other).awaitWords("elastic worker %d is rank".formatted(other));
            job.worker(victim).kill();
            job.awaitResult(job.worker(other), job.worker((victim + 2) % 3));
            assertThat(job.worker(other).output()).contains("generation 0 did not come about");
        }
    }

    @Test
    void twoSuccessiveWorkerFailuresAreSurvived() throws Exception {
        try (ElasticTestJob job = new ElasticTestJob(4)) {
            job.start("hold=allreduce@5");
            job.start();
            job.start("hold=sync@1"); // in the recovery from the first loss
            job.start();
            job.worker(0).awaitLine("holding in allreduce");
            job.worker(0).kill();
            job.worker(2).awaitLine("holding in sync");
            job.worker(2).kill();
            job.awaitResult(job.worker(1), job.worker(3));
        }
    }

    @Test
    void newWorkerSyncsStateFromOthers() throws Exception {
        try (ElasticTestJob job = new ElasticTestJob(2)) {
            TestRankProcess first = job.start("set=1", "hold=allreduce@10");
            TestRankProcess second = job.start("set=1");
            first.awaitLine("holding");
            TestRankProcess late = job.start("set=1");
            job.awaitHostsUpdate();
            first.sendSignal();
            job.awaitResult(first, second, late);
            String begun = late.awaitLine("begin, generation 1: rank 2 of 3");
            assertThat(stepOf(begun)).isGreaterThan(10);
            assertThat(begun).endsWith("sets 0=[0, 1, 2] 1=[1]");
        }
    }

    /// Commits are rare, so a rank that went back to its last commit would repeat steps.
    @Test
    void hostsUpdateInterruptsAllRanksAtSameStepWithoutLoss() throws Exception {
        try (ElasticTestJob job = new ElasticTestJob(3)) {
            TestRankProcess first =
                    job.start("set=2", "set=1", "commit-every=1000", "hold=allreduce@7");
            TestRankProcess second = job.start("set=2", "set=1", "commit-every=1000");
            TestRankProcess third = job.start("set=2", "set=1", "commit-every=1000");
            first.awaitLine("holding");
            job.removeWorker(2);
            job.awaitHostsUpdate();
            first.sendSignal();
            job.awaitResult(first, second);
            await().atMost(TestJob.TIMEOUT).until(() -> third.exit().isDone());
            assertThat(third.exitCode()).isZero();
            assertThat(third.output())
                    .contains("no place for it any more: the test has no use")
                    .contains("dismissed"); // Elastic.run has returned

            assertThat(first.awaitLine("reset, "))
                    .contains("generation 1: rank 0 of 2")
                    .as("the set of a rank that is gone is gone, and the other keeps its number")
                    .endsWith("sets 0=[0, 1] 2=[1]");
            assertThat(stepOf(first.awaitLine("reset, ")))
                    .isEqualTo(stepOf(second.awaitLine("reset, ")));
            assertThat(steps(first)).as("no step is done twice").doesNotHaveDuplicates();
        }
    }

    @Test
    void programExceptionEndsOnlyThatWorker() throws Exception {
        try (ElasticTestJob job = new ElasticTestJob(3)) {
            TestRankProcess first = job.start();
            TestRankProcess faulty = job.start("throw@4");
            TestRankProcess third = job.start();
            job.awaitResult(first, third);
            await().atMost(TestJob.TIMEOUT).until(() -> faulty.exit().isDone());
            assertThat(faulty.exitCode()).isEqualTo(1);
            assertThat(faulty.output()).contains("this program has a fault");
            assertThat(first.output())
                    .contains("rank 1 on alpha is lost: its program failed")
                    .contains("this program has a fault");
        }
    }

    /// A stopped process keeps its connections open, so only its silence shows. When it resumes,
    /// its generation has ended.
    @ParameterizedTest(name = "worker {0}")
    @ValueSource(ints = 1)
    @SlowCases("0")
    void frozenWorkerIsDeclaredLostAndDoesNotAffectLaterGenerations(int victim) throws Exception {
        try (ElasticTestJob job = new ElasticTestJob(3, Duration.ofSeconds(8))) {
            for (int i = 0; i < 3; i++) {
                job.start(i == victim ? "hold=allreduce@3" : "hold=allreduce@20");
            }
            TestRankProcess stopped = job.worker(victim);
            stopped.awaitLine("holding");
            stopped.freeze();
            TestRankProcess one = job.worker((victim + 1) % 3);
            TestRankProcess other = job.worker((victim + 2) % 3);
            one.awaitLine("holding");
            other.awaitLine("holding");
            stopped.resume();
            stopped.sendSignal();
            await().atMost(TestJob.TIMEOUT).until(() -> stopped.exit().isDone());
            assertThat(stopped.exitCode()).isNotZero();
            one.sendSignal();
            other.sendSignal();
            job.awaitResult(one, other);
        }
    }

    private static int stepOf(String line) {
        Matcher matcher = Pattern.compile("step (\\d+)").matcher(line);
        assertThat(matcher.find()).isTrue();
        return Integer.parseInt(matcher.group(1));
    }

    /// The steps that a worker has started, in order.
    private static List<Integer> steps(TestRankProcess worker) {
        List<Integer> steps = new ArrayList<>();
        for (String line : worker.lines()) {
            Matcher matcher = STEP.matcher(line);
            if (matcher.matches()) {
                steps.add(Integer.parseInt(matcher.group(1)));
            }
        }
        return steps;
    }
}
