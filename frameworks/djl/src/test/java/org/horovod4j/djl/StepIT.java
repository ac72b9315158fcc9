package org.horovod4j.djl;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import ai.djl.ndarray.NDArray;

import org.assertj.core.data.Offset;
import org.horovod4j.Communicator;
import org.horovod4j.djl.DistributedOptimizer.SkipScope;
import org.horovod4j.optim.overlap.Overlap;
import org.junit.jupiter.api.Test;

import java.util.List;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.function.UnaryOperator;

/// Allowed and rejected calls between two steps.
class StepIT {
    private static final int BATCH = 4;

    /// When gradients are reduced, with hooks.
    private enum HookMode {
        /// During backward.
        OVERLAP,
        /// In the step, because no processor is idle: hooks only count passes.
        COUNT_ONLY;

        DistributedOptimizer.Builder set(DistributedOptimizer.Builder builder) {
            return this == OVERLAP ? builder.overlap(true) : builder;
        }
    }

    @Test
    void gradientsAreSynchronizedOncePerStep() {
        Queue<String> lines = new ConcurrentLinkedQueue<>();
        TestTraining.ranksOnAllProcessors(2)
                .output(line -> lines.add(line.toString()))
                .execute(
                        comm -> {
                            gradientsMayBeClippedInBetween(comm, HookMode.OVERLAP);
                            gradientsMayBeClippedInBetween(comm, HookMode.COUNT_ONLY);
                            aStepAfterSynchronizingTakesTheGradientsAsTheyAre(
                                    comm, HookMode.OVERLAP);
                            aStepAfterSynchronizingTakesTheGradientsAsTheyAre(
                                    comm, HookMode.COUNT_ONLY);
                            skippingNeedsSynchronizedGradients(comm);
                            stepCallsMayBeOmitted(comm, true);
                            stepCallsMayBeOmitted(comm, false);
                        });
        assertThat(lines)
                .filteredOn(line -> line.contains("call it inside skipSynchronize()"))
                .as("one warning of each of two optimizers on each rank")
                .hasSize(2 * 2);
    }

    @Test
    void passesAreAccumulatedPerStep() {
        TestTraining.ranksOnAllProcessors(2)
                .execute(
                        comm -> {
                            infinityDoesNotReachNextStep(comm, HookMode.OVERLAP);
                            infinityDoesNotReachNextStep(comm, HookMode.COUNT_ONLY);
                            accumulatedPassesMakeOneStep(comm);
                            resetDropsAccumulatedGradients(comm, HookMode.OVERLAP);
                            resetDropsAccumulatedGradients(comm, HookMode.COUNT_ONLY);
                            tooManyPassesFail(comm, HookMode.OVERLAP);
                            tooManyPassesFail(comm, HookMode.COUNT_ONLY);
                            invalidSettingsAreRejected(comm);
                        });
    }

    private static TestTraining trial(
            Communicator comm, UnaryOperator<DistributedOptimizer.Builder> settings) {
        return new TestTraining(
                TestTraining.network(),
                block ->
                        settings.apply(DistributedOptimizer.wrap(TestTraining.sgd(), block))
                                .communicator(comm)
                                .build(),
                TestTraining.INPUT);
    }

    private static void pass(TestTraining testTraining, Communicator comm, int pass) {
        int from = (pass * comm.size() + comm.rank()) * BATCH;
        testTraining.pass(from, from + BATCH);
    }

    private static void gradientsMayBeClippedInBetween(Communicator comm, HookMode hookMode) {
        try (TestTraining testTraining = trial(comm, hookMode::set);
                TestTraining reference =
                        new TestTraining(
                                TestTraining.network(),
                                _ -> TestTraining.sgd(),
                                TestTraining.INPUT)) {
            for (int step = 0; step < 3; step++) {
                pass(testTraining, comm, step);
                testTraining.optimizer().synchronize();
                clip(testTraining);
                try (SkipScope _ = testTraining.optimizer().skipSynchronize()) {
                    testTraining.step();
                }
                int whole = step * comm.size() * BATCH;
                reference.pass(whole, whole + comm.size() * BATCH);
                clip(reference);
                reference.step();
            }
            TestTraining.assertSameOnAllRanks(comm, testTraining.weights());
            assertThat(testTraining.weights())
                    .containsExactly(reference.weights(), Offset.offset(1e-5f));
        }
    }

    private static void clip(TestTraining testTraining) {
        for (String name : testTraining.names()) {
            try (NDArray gradient = testTraining.parameter(name).getArray().getGradient();
                    NDArray clipped = gradient.clip(-0.01, 0.01);
                    NDArray excess = gradient.sub(clipped)) {
                gradient.subi(excess);
            }
        }
    }

    private static void aStepAfterSynchronizingTakesTheGradientsAsTheyAre(
            Communicator comm, HookMode hookMode) {
        try (TestTraining testTraining = trial(comm, hookMode::set);
                TestTraining other = trial(comm, builder -> hookMode.set(builder).name("other"))) {
            for (int step = 0; step < 3; step++) {
                pass(testTraining, comm, step);
                testTraining.optimizer().synchronize();
                testTraining.optimizer().synchronize();
                testTraining.step();
                pass(other, comm, step);
                other.step();
            }
            assertThat(testTraining.weights()).containsExactly(other.weights());
        }
    }

    private static void skippingNeedsSynchronizedGradients(Communicator comm) {
        try (TestTraining testTraining = trial(comm, builder -> builder.overlap(false))) {
            pass(testTraining, comm, 0);
            try (SkipScope _ = testTraining.optimizer().skipSynchronize()) {
                assertThatThrownBy(testTraining::step)
                        .isInstanceOf(IllegalStateException.class)
                        .hasMessageContaining("Call synchronize() after the last backward pass");
            }
        }
    }

    /// As a loss scaler does when gradients are infinite.
    private static void stepCallsMayBeOmitted(Communicator comm, boolean overlap) {
        try (TestTraining testTraining = trial(comm, builder -> builder.overlap(overlap))) {
            for (int step = 0; step < 3; step++) {
                pass(testTraining, comm, step);
                testTraining.optimizer().synchronize();
                TestTraining.assertSameOnAllRanks(comm, testTraining.gradient("05Linear_weight"));
            }
        }
    }

    private static void resetDropsAccumulatedGradients(Communicator comm, HookMode hookMode) {
        try (TestTraining testTraining = trial(comm, hookMode::set);
                TestTraining other = trial(comm, builder -> hookMode.set(builder).name("other"))) {
            pass(testTraining, comm, 0);
            testTraining.step();
            pass(other, comm, 0);
            other.step();
            pass(testTraining, comm, 1); // with hooks all its gradients are under way
            try (SkipScope _ = testTraining.optimizer().skipSynchronize()) {
                testTraining.optimizer().reset();
                pass(testTraining, comm, 2);
                testTraining.step();
            }
            pass(other, comm, 2);
            other.step();
            assertThat(testTraining.weights()).containsExactly(other.weights());
        }
    }

    private static void infinityDoesNotReachNextStep(Communicator comm, HookMode hookMode) {
        try (TestTraining testTraining =
                trial(
                        comm,
                        builder ->
                                hookMode.set(builder)
                                        .backwardPassesPerStep(2)
                                        .averageAccumulated(true))) {
            pass(testTraining, comm, 0);
            pass(testTraining, comm, 1);
            testTraining.optimizer().synchronize();
            try (NDArray gradient =
                    testTraining.parameter("05Linear_bias").getArray().getGradient()) {
                gradient.divi(0);
                assertThat(gradient.isInfinite().any().getBoolean()).isTrue();
            }
            // a loss scaler would skip this step; here the infinite gradient is zeroed
            try (NDArray bias = testTraining.parameter("05Linear_bias").getArray().duplicate();
                    SkipScope _ = testTraining.optimizer().skipSynchronize()) {
                testTraining.step();
                testTraining.parameter("05Linear_bias").getArray().set(bias.toFloatArray());
            }
            pass(testTraining, comm, 2);
            pass(testTraining, comm, 3);
            testTraining.optimizer().synchronize();
            for (float value : testTraining.gradient("05Linear_bias")) {
                assertThat(value).isFinite();
            }
        }
    }

    private static void accumulatedPassesMakeOneStep(Communicator comm) {
        try (TestTraining testTraining =
                trial(comm, builder -> builder.backwardPassesPerStep(3).overlap(false))) {
            float[] before = testTraining.weights();
            pass(testTraining, comm, 0);
            testTraining.step();
            pass(testTraining, comm, 1);
            testTraining.step();
            assertThat(testTraining.weights()).containsExactly(before);
            pass(testTraining, comm, 2);
            testTraining.step();
            assertThat(testTraining.weights()).isNotEqualTo(before);
            testTraining.optimizer().setBackwardPassesPerStep(1);
            before = testTraining.weights();
            pass(testTraining, comm, 3);
            testTraining.step();
            assertThat(testTraining.weights()).isNotEqualTo(before);
            assertThat(testTraining.optimizer().overlap().overlapTiming().steps()).isEqualTo(2);
            TestTraining.assertSameOnAllRanks(comm, testTraining.weights());
        }
    }

    private static void tooManyPassesFail(Communicator comm, HookMode hookMode) {
        try (TestTraining testTraining = trial(comm, hookMode::set)) {
            pass(testTraining, comm, 0);
            testTraining.step();
            Overlap overlap = testTraining.optimizer().overlap();
            assertThat(overlap.isUsed())
                    .as(overlap.reason())
                    .isEqualTo(hookMode == HookMode.OVERLAP);
            pass(testTraining, comm, 1);
            pass(testTraining, comm, 2);
            assertThatThrownBy(testTraining::step)
                    .isInstanceOf(IllegalStateException.class)
                    .hasMessageContaining("was computed 2 times since the last step")
                    .hasMessageContaining("backwardPassesPerStep");
        }
    }

    private static void invalidSettingsAreRejected(Communicator comm) {
        assertRejected(comm, builder -> builder.backwardPassesPerStep(0), "at least 1, not 0");
        assertRejected(comm, builder -> builder.groups(0), "number of groups is at least 1");
        assertRejected(comm, builder -> builder.groups(List.of(List.of("unknown"))), "'unknown'");
        assertRejected(
                comm,
                builder ->
                        builder.groups(List.of(List.of("01Linear_bias"), List.of("01Linear_bias"))),
                "twice");
        try (TestTraining testTraining = trial(comm, builder -> builder)) {
            assertThatIllegalArgumentException()
                    .isThrownBy(
                            () ->
                                    DistributedOptimizer.wrap(
                                            testTraining.optimizer(),
                                            testTraining.model.getBlock()))
                    .withMessageContaining("distributed already");
            try (NDArray any = testTraining.model.getNDManager().zeros(TestTraining.INPUT)) {
                assertThatThrownBy(() -> testTraining.optimizer().update("stranger", any, any))
                        .isInstanceOf(IllegalStateException.class)
                        .hasMessageContaining("stranger");
            }
        }
    }

    private static void assertRejected(
            Communicator comm,
            UnaryOperator<DistributedOptimizer.Builder> settings,
            String reason) {
        assertThatIllegalArgumentException()
                .isThrownBy(() -> trial(comm, settings).close())
                .withMessageContaining(reason);
    }
}
