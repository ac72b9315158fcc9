package org.horovod4j.pytorch;

import static org.assertj.core.api.Assertions.assertThat;

import org.assertj.core.data.Offset;
import org.bytedeco.pytorch.Optimizer;
import org.horovod4j.Communicator;
import org.horovod4j.compression.Compression;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;

/// Two ranks with half batches get the weights of one process with whole batches, and the same bits on both
/// ranks.
class EquivalenceIT {
    private static final int STEPS = 60;
    private static final int BATCH = 8;

    /// Sums in another order differ in their last bits.
    private static final float LAST_BITS = 1e-4f;

    private static List<Map<String, float[]>> ranks = List.of();

    /// Settings that lead to the same weights.
    enum Variant {
        DEFAULTS,
        HOOKS,
        NO_HOOKS,
        FREED_GRADIENTS,
        ADAM(1, 1e-3f),
        TWO_GROUPS,
        NAMED_GROUP,
        PREDIVIDED,
        HALF_PRECISION(1, 2e-2f),
        FOUR_PASSES(4, LAST_BITS),
        FOUR_PASSES_ONE_CALL(4, LAST_BITS),
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
                case HOOKS, FREED_GRADIENTS, ADAM -> builder.overlap(true);
                case NO_HOOKS -> builder.overlap(false);
                case TWO_GROUPS -> builder.overlap(true).groups(2);
                case NAMED_GROUP ->
                        builder.overlap(true)
                                .groups(List.of(List.of("first.bias", "second.weight")));
                case PREDIVIDED -> builder.overlap(true).predivideFactor(2);
                case HALF_PRECISION -> builder.overlap(true).compression(Compression.FP16);
                case FOUR_PASSES, FOUR_PASSES_ONE_CALL ->
                        builder.backwardPassesPerStep(4).averageAccumulated(true).overlap(true);
                case FOUR_PASSES_NO_HOOKS ->
                        builder.backwardPassesPerStep(4).averageAccumulated(true).overlap(false);
            };
        }

        Optimizer optimizer(TestNetwork network) {
            return this == ADAM ? network.adam() : network.sgd();
        }
    }

    @BeforeAll
    static void train() {
        ranks = TorchProcesses.launcher(2).run(EquivalenceIT::trainOnShares);
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
        int share = BATCH / comm.size() / variant.passes;
        TestNetwork network = TorchProcesses.newNetwork();
        DistributedOptimizer optimizer =
                variant.set(DistributedOptimizer.wrap(variant.optimizer(network), network))
                        .communicator(comm)
                        .build();
        for (int step = 0; step < STEPS; step++) {
            if (variant == Variant.FREED_GRADIENTS) {
                optimizer.wrapped().zero_grad();
            } else {
                optimizer.zeroGrad();
            }
            for (int pass = 0; pass < variant.passes; pass++) {
                int from = step * BATCH + (comm.rank() * variant.passes + pass) * share;
                network.pass(from, from + share);
                if (variant != Variant.FOUR_PASSES_ONE_CALL || pass == variant.passes - 1) {
                    optimizer.step();
                }
            }
        }
        return network.weights();
    }

    /// Plain PyTorch, in this process.
    private static float[] trainOnWholeBatches(Variant variant) {
        TestNetwork network = TorchProcesses.newNetwork();
        Optimizer optimizer = variant.optimizer(network);
        for (int step = 0; step < STEPS; step++) {
            optimizer.zero_grad();
            network.pass(step * BATCH, (step + 1) * BATCH);
            optimizer.step();
        }
        return network.weights();
    }

    @ParameterizedTest
    @EnumSource
    void twoRanksOnHalfBatchesEqualOneProcess(Variant variant) {
        float[] first = weights(0, variant);
        assertThat(weights(1, variant)).containsExactly(first);
        assertThat(first)
                .isNotEqualTo(TorchProcesses.newNetwork().weights())
                .containsExactly(trainOnWholeBatches(variant), Offset.offset(variant.tolerance));
    }

    private static float[] weights(int rank, Variant variant) {
        return Objects.requireNonNull(ranks.get(rank).get(variant.name()));
    }
}
