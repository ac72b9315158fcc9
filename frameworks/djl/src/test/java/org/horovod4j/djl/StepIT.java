package org.horovod4j.djl;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import ai.djl.ndarray.NDArray;

import org.assertj.core.data.Offset;
import org.horovod4j.Communicator;
import org.horovod4j.djl.DistributedOptimizer.Skip;
import org.junit.jupiter.api.Test;

import java.util.List;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.function.UnaryOperator;

/// What may happen between two steps, and what may not.
class StepIT {
    private static final int BATCH = 4;

    /// When gradients travel, where hooks tell of them.
    private enum Way {
        /// While backward goes on.
        HOOKS,
        /// When the step comes, as nothing is said and no processor is free: hooks count passes.
        COUNTED;

        DistributedOptimizer.Builder set(DistributedOptimizer.Builder builder) {
            return this == HOOKS ? builder.overlap(true) : builder;
        }
    }

    @Test
    void stepsAreSynchronizedOnce() {
        Queue<String> lines = new ConcurrentLinkedQueue<>();
        Trial.busyRanks(2)
                .output(line -> lines.add(line.toString()))
                .execute(
                        comm -> {
                            gradientsMayBeClippedInBetween(comm, Way.HOOKS);
                            gradientsMayBeClippedInBetween(comm, Way.COUNTED);
                            aStepAfterSynchronizingTakesTheGradientsAsTheyAre(comm, Way.HOOKS);
                            aStepAfterSynchronizingTakesTheGradientsAsTheyAre(comm, Way.COUNTED);
                            skippingNeedsSynchronizedGradients(comm);
                            stepsMayBeLeftOut(comm, true);
                            stepsMayBeLeftOut(comm, false);
                        });
        assertThat(lines)
                .filteredOn(line -> line.contains("put it inside skipSynchronize()"))
                .as("one warning of each of two optimizers on each rank")
                .hasSize(2 * 2);
    }

    @Test
    void windowsAreKept() {
        Trial.busyRanks(2)
                .execute(
                        comm -> {
                            infinityStaysInItsWindow(comm, Way.HOOKS);
                            infinityStaysInItsWindow(comm, Way.COUNTED);
                            aWindowIsOneStep(comm);
                            aResetLeavesNothingOfItsWindow(comm, Way.HOOKS);
                            aResetLeavesNothingOfItsWindow(comm, Way.COUNTED);
                            tooManyPassesAreTold(comm, Way.HOOKS);
                            tooManyPassesAreTold(comm, Way.COUNTED);
                            nonsenseIsRefused(comm);
                        });
    }

    private static Trial trial(
            Communicator comm, UnaryOperator<DistributedOptimizer.Builder> settings) {
        return new Trial(
                Trial.network(),
                block ->
                        settings.apply(DistributedOptimizer.wrap(Trial.sgd(), block))
                                .communicator(comm)
                                .build(),
                Trial.INPUT);
    }

    private static void pass(Trial trial, Communicator comm, int pass) {
        int from = (pass * comm.size() + comm.rank()) * BATCH;
        trial.pass(from, from + BATCH);
    }

    private static void gradientsMayBeClippedInBetween(Communicator comm, Way way) {
        try (Trial trial = trial(comm, way::set);
                Trial reference = new Trial(Trial.network(), _ -> Trial.sgd(), Trial.INPUT)) {
            for (int step = 0; step < 3; step++) {
                pass(trial, comm, step);
                trial.optimizer().synchronize();
                clip(trial);
                try (Skip _ = trial.optimizer().skipSynchronize()) {
                    trial.step();
                }
                int whole = step * comm.size() * BATCH;
                reference.pass(whole, whole + comm.size() * BATCH);
                clip(reference);
                reference.step();
            }
            Trial.assertSameOnAllRanks(comm, trial.weights());
            assertThat(trial.weights()).containsExactly(reference.weights(), Offset.offset(1e-5f));
        }
    }

    private static void clip(Trial trial) {
        for (String name : trial.names()) {
            try (NDArray gradient = trial.parameter(name).getArray().getGradient();
                    NDArray clipped = gradient.clip(-0.01, 0.01);
                    NDArray excess = gradient.sub(clipped)) {
                gradient.subi(excess);
            }
        }
    }

    private static void aStepAfterSynchronizingTakesTheGradientsAsTheyAre(
            Communicator comm, Way way) {
        try (Trial trial = trial(comm, way::set);
                Trial other = trial(comm, builder -> way.set(builder).name("other"))) {
            for (int step = 0; step < 3; step++) {
                pass(trial, comm, step);
                trial.optimizer().synchronize();
                trial.optimizer().synchronize();
                trial.step();
                pass(other, comm, step);
                other.step();
            }
            assertThat(trial.weights()).containsExactly(other.weights());
        }
    }

    private static void skippingNeedsSynchronizedGradients(Communicator comm) {
        try (Trial trial = trial(comm, builder -> builder.overlap(false))) {
            pass(trial, comm, 0);
            try (Skip _ = trial.optimizer().skipSynchronize()) {
                assertThatThrownBy(trial::step)
                        .isInstanceOf(IllegalStateException.class)
                        .hasMessageContaining("Call synchronize() before it");
            }
        }
    }

    /// As a loss scaler does when gradients are infinite.
    private static void stepsMayBeLeftOut(Communicator comm, boolean overlap) {
        try (Trial trial = trial(comm, builder -> builder.overlap(overlap))) {
            for (int step = 0; step < 3; step++) {
                pass(trial, comm, step);
                trial.optimizer().synchronize();
                Trial.assertSameOnAllRanks(comm, trial.gradient("05Linear_weight"));
            }
        }
    }

    private static void aResetLeavesNothingOfItsWindow(Communicator comm, Way way) {
        try (Trial trial = trial(comm, way::set);
                Trial other = trial(comm, builder -> way.set(builder).name("other"))) {
            pass(trial, comm, 0);
            trial.step();
            pass(other, comm, 0);
            other.step();
            pass(trial, comm, 1); // with hooks all its gradients are under way
            try (Skip _ = trial.optimizer().skipSynchronize()) {
                trial.optimizer().reset();
                pass(trial, comm, 2);
                trial.step();
            }
            pass(other, comm, 2);
            other.step();
            assertThat(trial.weights()).containsExactly(other.weights());
        }
    }

    private static void infinityStaysInItsWindow(Communicator comm, Way way) {
        try (Trial trial =
                trial(
                        comm,
                        builder ->
                                way.set(builder)
                                        .backwardPassesPerStep(2)
                                        .averageAccumulated(true))) {
            pass(trial, comm, 0);
            pass(trial, comm, 1);
            trial.optimizer().synchronize();
            try (NDArray gradient = trial.parameter("05Linear_bias").getArray().getGradient()) {
                gradient.divi(0);
                assertThat(gradient.isInfinite().any().getBoolean()).isTrue();
            }
            // a loss scaler would leave this step out: here the bad gradient is gone by zeroing
            try (NDArray bias = trial.parameter("05Linear_bias").getArray().duplicate();
                    Skip _ = trial.optimizer().skipSynchronize()) {
                trial.step();
                trial.parameter("05Linear_bias").getArray().set(bias.toFloatArray());
            }
            pass(trial, comm, 2);
            pass(trial, comm, 3);
            trial.optimizer().synchronize();
            for (float value : trial.gradient("05Linear_bias")) {
                assertThat(value).isFinite();
            }
        }
    }

    private static void aWindowIsOneStep(Communicator comm) {
        try (Trial trial =
                trial(comm, builder -> builder.backwardPassesPerStep(3).overlap(false))) {
            float[] before = trial.weights();
            pass(trial, comm, 0);
            trial.step();
            pass(trial, comm, 1);
            trial.step();
            assertThat(trial.weights()).containsExactly(before);
            pass(trial, comm, 2);
            trial.step();
            assertThat(trial.weights()).isNotEqualTo(before);
            trial.optimizer().setBackwardPassesPerStep(1);
            before = trial.weights();
            pass(trial, comm, 3);
            trial.step();
            assertThat(trial.weights()).isNotEqualTo(before);
            assertThat(trial.optimizer().overlap().timing().steps()).isEqualTo(2);
            Trial.assertSameOnAllRanks(comm, trial.weights());
        }
    }

    private static void tooManyPassesAreTold(Communicator comm, Way way) {
        try (Trial trial = trial(comm, way::set)) {
            pass(trial, comm, 0);
            trial.step();
            Overlap overlap = trial.optimizer().overlap();
            assertThat(overlap.isUsed()).as(overlap.reason()).isEqualTo(way == Way.HOOKS);
            pass(trial, comm, 1);
            pass(trial, comm, 2);
            assertThatThrownBy(trial::step)
                    .isInstanceOf(IllegalStateException.class)
                    .hasMessageContaining("was computed 2 times since the last step")
                    .hasMessageContaining("backwardPassesPerStep");
        }
    }

    private static void nonsenseIsRefused(Communicator comm) {
        refuses(comm, builder -> builder.backwardPassesPerStep(0), "at least 1, not 0");
        refuses(comm, builder -> builder.groups(0), "number of groups is at least 1");
        refuses(comm, builder -> builder.groups(List.of(List.of("nobody"))), "'nobody'");
        refuses(
                comm,
                builder ->
                        builder.groups(List.of(List.of("01Linear_bias"), List.of("01Linear_bias"))),
                "twice");
        try (Trial trial = trial(comm, builder -> builder)) {
            assertThatIllegalArgumentException()
                    .isThrownBy(
                            () ->
                                    DistributedOptimizer.wrap(
                                            trial.optimizer(), trial.model.getBlock()))
                    .withMessageContaining("distributed already");
            try (NDArray any = trial.model.getNDManager().zeros(Trial.INPUT)) {
                assertThatThrownBy(() -> trial.optimizer().update("stranger", any, any))
                        .isInstanceOf(IllegalStateException.class)
                        .hasMessageContaining("stranger");
            }
        }
    }

    private static void refuses(
            Communicator comm,
            UnaryOperator<DistributedOptimizer.Builder> settings,
            String reason) {
        assertThatIllegalArgumentException()
                .isThrownBy(() -> trial(comm, settings).close())
                .withMessageContaining(reason);
    }
}
