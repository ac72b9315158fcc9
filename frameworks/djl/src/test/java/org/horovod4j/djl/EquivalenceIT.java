package org.horovod4j.djl;

import static org.assertj.core.api.Assertions.assertThat;

import ai.djl.training.optimizer.Optimizer;
import ai.djl.training.tracker.Tracker;

import org.assertj.core.data.Offset;
import org.horovod4j.Communicator;
import org.horovod4j.compression.Compression;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

import java.util.EnumMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;

/// Two ranks with half batches get the weights of one process with whole batches, and the same bits on
/// both ranks.
class EquivalenceIT {
    private static final int STEPS = 100;
    private static final int BATCH = 8;

    /// Sums in another order differ in their last bits.
    private static final float LAST_BITS = 1e-4f;

    private static final Map<Variant, float[]> ONE_PROCESS = new EnumMap<>(Variant.class);
    private static List<Map<String, float[]>> ranks = List.of();

    /// Settings that lead to the same weights.
    enum Variant {
        DEFAULTS,
        HOOKS,
        NO_HOOKS,
        ADAM(1, 1e-3f),
        TWO_GROUPS,
        NAMED_GROUP,
        PREDIVIDED,
        HALF_PRECISION(1, 2e-2f),
        FOUR_PASSES(4, LAST_BITS),
        FOUR_PASSES_ONE_CALL(4, LAST_BITS),
        FOUR_PASSES_ONE_CALL_DEFAULTS(4, LAST_BITS),
        FOUR_PASSES_NO_HOOKS(4, LAST_BITS);

        private final int passes;
        private final float tolerance;

        Variant() {
            this(1, LAST_BITS);
        }

        /// @param passes backward passes in a step
        /// @param tolerance larger for Adam, which divides by small differences, and for half floats
        Variant(int passes, float tolerance) {
            this.passes = passes;
            this.tolerance = tolerance;
        }

        DistributedOptimizer.Builder set(DistributedOptimizer.Builder builder) {
            return switch (this) {
                case DEFAULTS -> builder;
                case HOOKS, ADAM -> builder.overlap(true);
                case NO_HOOKS -> builder.overlap(false);
                case TWO_GROUPS -> builder.overlap(true).groups(2);
                case NAMED_GROUP ->
                        builder.overlap(true)
                                .groups(List.of(List.of("01Linear_bias", "05Linear_weight")));
                case PREDIVIDED -> builder.overlap(true).predivideFactor(2);
                case HALF_PRECISION -> builder.overlap(true).compression(Compression.FP16);
                case FOUR_PASSES, FOUR_PASSES_ONE_CALL ->
                        builder.backwardPassesPerStep(4).averageAccumulated(true).overlap(true);
                case FOUR_PASSES_ONE_CALL_DEFAULTS ->
                        builder.backwardPassesPerStep(4).averageAccumulated(true);
                case FOUR_PASSES_NO_HOOKS ->
                        builder.backwardPassesPerStep(4).averageAccumulated(true).overlap(false);
            };
        }

        int passes() {
            return passes;
        }

        Offset<Float> tolerance() {
            return Offset.offset(tolerance);
        }

        /// Whether the program calls `step()` after the last pass only.
        boolean isOneCall() {
            return this == FOUR_PASSES_ONE_CALL || this == FOUR_PASSES_ONE_CALL_DEFAULTS;
        }

        Optimizer optimizer() {
            return this == ADAM
                    ? Optimizer.adam().optLearningRateTracker(Tracker.fixed(0.01f)).build()
                    : TestTraining.sgd();
        }
    }

    @BeforeAll
    static void train() {
        ranks = TestTraining.ranksOnAllProcessors(2).run(EquivalenceIT::trainOnShares);
        for (Variant variant : Variant.values()) {
            ONE_PROCESS.put(variant, trainOnWholeBatches(variant));
        }
    }

    private static Map<String, float[]> trainOnShares(Communicator comm) {
        Map<String, float[]> weights = new LinkedHashMap<>();
        for (Variant variant : Variant.values()) {
            weights.put(variant.name(), trainOnShares(comm, variant));
        }
        return weights;
    }

    /// Each pass uses its part of this rank's part of a batch.
    private static float[] trainOnShares(Communicator comm, Variant variant) {
        int share = BATCH / comm.size() / variant.passes();
        try (TestTraining testTraining =
                new TestTraining(
                        TestTraining.network(),
                        block ->
                                variant.set(DistributedOptimizer.wrap(variant.optimizer(), block))
                                        .communicator(comm)
                                        .build(),
                        TestTraining.INPUT)) {
            for (int step = 0; step < STEPS; step++) {
                for (int pass = 0; pass < variant.passes(); pass++) {
                    int from = step * BATCH + (comm.rank() * variant.passes() + pass) * share;
                    testTraining.pass(from, from + share);
                    if (!variant.isOneCall() || pass == variant.passes() - 1) {
                        testTraining.step();
                    }
                }
            }
            return testTraining.weights();
        }
    }

    /// Plain DJL, in this process.
    private static float[] trainOnWholeBatches(Variant variant) {
        try (TestTraining testTraining =
                new TestTraining(
                        TestTraining.network(), _ -> variant.optimizer(), TestTraining.INPUT)) {
            for (int step = 0; step < STEPS; step++) {
                testTraining.pass(step * BATCH, (step + 1) * BATCH);
                testTraining.step();
            }
            return testTraining.weights();
        }
    }

    @ParameterizedTest
    @EnumSource
    void twoRanksOnHalfBatchesEqualOneProcess(Variant variant) {
        float[] first = weights(0, variant);
        assertThat(weights(1, variant)).containsExactly(first);
        assertThat(first).containsExactly(ONE_PROCESS.get(variant), variant.tolerance());
    }

    private static float[] weights(int rank, Variant variant) {
        return Objects.requireNonNull(ranks.get(rank).get(variant.name()));
    }
}
