package org.horovod4j.process;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.horovod4j.Hvd;
import org.horovod4j.MismatchException;
import org.horovod4j.ProcessSet;
import org.horovod4j.option.Environment;
import org.horovod4j.option.JoinAverage;
import org.horovod4j.option.Options;
import org.horovod4j.option.RuntimeOptions;
import org.horovod4j.testsupport.SimulatedHost;
import org.horovod4j.testsupport.SlowCases;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.stream.IntStream;

/// Negotiation, fusion, plans, process sets and join, between processes, on every transport.
class RuntimeIT {
    private static final String PLAN = "following plan";

    /// Creates process sets at startup, at the third attempt, then runs all acceptance tests.
    static final class Worker {
        private Worker() {}

        public static void main(String[] args) {
            startWithSets();
            JoinAverage joinAverage =
                    new Environment(System.getenv()).get(RuntimeOptions.JOIN_AVERAGE);
            new RuntimeAcceptanceTests(Hvd.communicator(), joinAverage).run();
            System.out.println("state " + Hvd.describeState().replace('\n', ' '));
            // A rank that left now would end the plan that the others are to report.
            TestSignal.await();
            Hvd.shutdown();
        }

        /// Invalid process sets are refused, and `init` can be called again.
        private static void startWithSets() {
            int rank = Integer.parseInt(System.getenv(Options.RANK.variable()));
            assertThatThrownBy(() -> Hvd.init(List.of(List.of(0), List.of(0))))
                    .isInstanceOf(IllegalArgumentException.class)
                    .hasMessageContaining("process set of ranks [0] already");
            assertThat(Hvd.isInitialized()).isFalse();
            assertThatThrownBy(() -> Hvd.init(List.of(List.of(rank))))
                    .isInstanceOf(MismatchException.class)
                    .hasMessageContainingAll("rank 0: ", "rank 1: ");
            assertThat(Hvd.isInitialized()).isFalse();

            int size = Integer.parseInt(System.getenv(Options.SIZE.variable()));
            Hvd.init(List.of(shuffled(0, size, rank), shuffled(1, size, rank)));
            assertThat(Hvd.processSets()).extracting(ProcessSet::id).containsExactly(0, 1, 2);
            assertThat(Hvd.processSets().get(1).ranks()).contains(0).isSorted();
            assertThat(Hvd.processSets().get(2).ranks()).contains(1).isSorted();
        }

        /// Every other rank, in a different order on each rank: the order of a set has no meaning.
        private static List<Integer> shuffled(int first, int size, int rank) {
            List<Integer> ranks =
                    new ArrayList<>(
                            IntStream.iterate(first, r -> r < size, r -> r + 2).boxed().toList());
            Collections.rotate(ranks, rank / 2);
            return ranks;
        }
    }

    @ParameterizedTest(name = "{0} ranks, transport {1}")
    @CsvSource({"4, auto"})
    @SlowCases({"2, auto", "3, tcp"})
    void acceptanceTestsPass(int size, String transport) throws Exception {
        TestJobPlan plan =
                TestJobPlan.of(size, Worker.class)
                        .compiledFully()
                        .with(Options.TRANSPORT, transport);
        try (TestJob testJob = plan.start()) {
            finish(testJob);
        }
    }

    @Test
    void acceptanceTestsPassBetweenHosts() throws Exception {
        try (SimulatedHost alpha = new SimulatedHost();
                SimulatedHost beta = new SimulatedHost();
                TestJob testJob =
                        TestJobPlan.of(4, Worker.class)
                                .compiledFully()
                                .onHosts(alpha, beta)
                                .start()) {
            finish(testJob);
        }
    }

    @Test
    void acceptanceTestsPassWithLiveJoinAverage() throws Exception {
        TestJobPlan plan =
                TestJobPlan.of(3, Worker.class)
                        .compiledFully()
                        .with(RuntimeOptions.JOIN_AVERAGE, "live");
        try (TestJob testJob = plan.start()) {
            finish(testJob);
        }
    }

    @Test
    @Tag("slow")
    void acceptanceTestsPassWithoutFusion() throws Exception {
        try (TestJob testJob = unfused().start()) {
            finish(testJob);
        }
    }

    /// Every operation is then negotiated and run on its own, every time.
    @Test
    void acceptanceTestsPassWithoutPlansCacheAndFusion() throws Exception {
        TestJobPlan plan =
                unfused()
                        .with(RuntimeOptions.PLAN_LOCKING, "0")
                        .with(RuntimeOptions.CACHE_CAPACITY, "0");
        try (TestJob testJob = plan.start()) {
            assertThat(states(testJob))
                    .as(testJob::output)
                    .allSatisfy(state -> assertThat(state).doesNotContain(PLAN));
            leave(testJob);
        }
    }

    private static TestJobPlan unfused() {
        return TestJobPlan.of(3, Worker.class)
                .compiledFully()
                .with(RuntimeOptions.FUSION_THRESHOLD, "0")
                .with(RuntimeOptions.DISABLE_GROUP_FUSION, "1");
    }

    private static void finish(TestJob testJob) throws Exception {
        assertThat(states(testJob))
                .as(testJob::output)
                .allSatisfy(state -> assertThat(state).contains(PLAN));
        leave(testJob);
    }

    /// What each rank reports about itself after all tests.
    private static List<String> states(TestJob testJob) {
        return testJob.ranks().stream().map(rank -> rank.awaitLine("state ")).toList();
    }

    private static void leave(TestJob testJob) throws Exception {
        for (TestRankProcess rank : testJob.ranks()) {
            rank.sendSignal();
        }
        testJob.awaitSuccess();
    }
}
