package org.horovod4j.djl;

import static org.assertj.core.api.Assertions.assertThat;

import ai.djl.ndarray.NDList;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import ai.djl.nn.AbstractBlock;
import ai.djl.nn.Block;
import ai.djl.nn.core.Linear;
import ai.djl.training.ParameterStore;
import ai.djl.util.PairList;

import org.assertj.core.data.Offset;
import org.horovod4j.Communicator;
import org.horovod4j.ReduceOp;
import org.horovod4j.Tensor;
import org.junit.jupiter.api.Test;

/// Networks of which a step trains a part: other branches on other ranks, frozen layers, layers
/// that each rank keeps for itself.
class DynamicNetworkIT {
    private static final Offset<Float> TOLERANCE = Offset.offset(1e-4f);
    private static final int BATCH = 4;

    @Test
    void partsOfNetworksAreTrained() {
        Trial.ranks(2)
                .execute(
                        comm -> {
                            ranksMayTakeDifferentBranches(comm, true);
                            ranksMayTakeDifferentBranches(comm, false);
                            branchesMayChangeWithinAWindow(comm, true);
                            branchesMayChangeWithinAWindow(comm, false);
                            layersMayBeFrozenBetweenSteps(comm, true);
                            layersMayBeFrozenBetweenSteps(comm, false);
                            localParametersAreNotReduced(comm, true);
                            localParametersAreNotReduced(comm, false);
                        });
    }

    /// One of two layers, or both.
    private static final class Branches extends AbstractBlock {
        private final Block left = addChildBlock("left", linear());
        private final Block right = addChildBlock("right", linear());
        private boolean isLeft;
        private boolean isRight;

        void take(boolean toLeft, boolean toRight) {
            isLeft = toLeft;
            isRight = toRight;
        }

        private static Block linear() {
            return Linear.builder().setUnits(Trial.OUTPUTS).build();
        }

        @Override
        protected NDList forwardInternal(
                ParameterStore store,
                NDList inputs,
                boolean training,
                PairList<String, Object> parameters) {
            if (isLeft && isRight) {
                NDList one = left.forward(store, inputs, training);
                NDList other = right.forward(store, inputs, training);
                return new NDList(one.singletonOrThrow().add(other.singletonOrThrow()));
            }
            return (isLeft ? left : right).forward(store, inputs, training);
        }

        @Override
        public Shape[] getOutputShapes(Shape[] inputs) {
            return left.getOutputShapes(inputs);
        }

        @Override
        protected void initializeChildBlocks(
                NDManager manager, DataType dataType, Shape... inputs) {
            left.initialize(manager, dataType, inputs);
            right.initialize(manager, dataType, inputs);
        }
    }

    private static Trial branches(Branches block, Communicator comm, boolean overlap) {
        return new Trial(
                block,
                b ->
                        DistributedOptimizer.wrap(Trial.sgd(), b)
                                .communicator(comm)
                                .overlap(overlap)
                                .build(),
                Trial.INPUT);
    }

    private static void ranksMayTakeDifferentBranches(Communicator comm, boolean overlap) {
        Branches block = new Branches();
        try (Trial trial = branches(block, comm, overlap)) {
            float[] left = trial.weight("01left_weight");
            float[] right = trial.weight("02right_weight");
            for (int step = 0; step < 4; step++) {
                // a rank that has never been on the left, then one that has
                boolean isLeft = comm.rank() == 0 || step == 3;
                block.take(isLeft, !isLeft);
                trial.pass(step * BATCH, (step + 1) * BATCH);
                trial.step();
                Trial.assertSameOnAllRanks(comm, trial.weights());
            }
            assertThat(trial.weight("01left_weight")).isNotEqualTo(left);
            assertThat(trial.weight("02right_weight")).isNotEqualTo(right);
        }
    }

    /// One rank stays on the left, the other changes sides: to it no parameter shows both passes.
    private static void branchesMayChangeWithinAWindow(Communicator comm, boolean overlap) {
        Branches block = new Branches();
        try (Trial trial = branches(block, comm, overlap)) {
            trial.optimizer().setBackwardPassesPerStep(2);
            float[] before = trial.weights();
            for (int pass = 0; pass < 4; pass++) {
                boolean isLeft = comm.rank() == 0 || pass % 2 == 0;
                block.take(isLeft, !isLeft);
                trial.pass(pass * BATCH, (pass + 1) * BATCH);
                trial.step();
                if (pass == 0) {
                    assertThat(trial.weights()).containsExactly(before);
                }
            }
            assertThat(trial.weights()).isNotEqualTo(before);
            Trial.assertSameOnAllRanks(comm, trial.weights());
            assertThat(trial.optimizer().overlap().timing().steps()).isEqualTo(2);
        }
    }

    /// As two networks that train against each other do.
    private static void layersMayBeFrozenBetweenSteps(Communicator comm, boolean overlap) {
        Branches block = new Branches();
        Branches alone = new Branches();
        try (Trial trial = branches(block, comm, overlap);
                Trial reference = new Trial(alone, _ -> Trial.sgd(), Trial.INPUT)) {
            for (int step = 0; step < 6; step++) {
                boolean leftTrains = step % 2 == 0;
                int from = step * BATCH * comm.size() + comm.rank() * BATCH;
                alternate(trial, block, leftTrains, from, from + BATCH);
                int whole = step * BATCH * comm.size();
                alternate(reference, alone, leftTrains, whole, whole + BATCH * comm.size());
            }
            Trial.assertSameOnAllRanks(comm, trial.weights());
            assertThat(trial.weights()).containsExactly(reference.weights(), TOLERANCE);
            // weight and bias of one layer in each step, also of layers that were frozen in between
            assertThat(trial.optimizer().overlap().timing())
                    .matches(timing -> timing.launchedByPasses() == (overlap ? 6 * 2 : 0))
                    .matches(timing -> timing.launchedBySteps() == (overlap ? 0 : 6 * 2));
        }
    }

    private static void alternate(
            Trial trial, Branches block, boolean leftTrains, int from, int to) {
        block.take(true, true);
        block.left.freezeParameters(!leftTrains);
        block.right.freezeParameters(leftTrains);
        trial.pass(from, to);
        trial.step();
    }

    private static void localParametersAreNotReduced(Communicator comm, boolean scaled) {
        try (Trial trial =
                        new Trial(
                                Trial.network(),
                                block ->
                                        DistributedOptimizer.wrap(Trial.sgd(), block)
                                                .communicator(comm)
                                                .overlap(true)
                                                .local(name -> name.startsWith("05"))
                                                .scaleLocalGradients(scaled)
                                                .build(),
                                Trial.INPUT);
                Trial alone = new Trial(Trial.network(), _ -> Trial.sgd(), Trial.INPUT)) {
            int from = comm.rank() * BATCH;
            trial.pass(from, from + BATCH);
            alone.pass(from, from + BATCH);
            trial.optimizer().synchronize();
            float[] expected = alone.gradient("05Linear_weight");
            for (int i = 0; i < expected.length; i++) {
                expected[i] /= scaled ? comm.size() : 1;
            }
            assertThat(trial.gradient("05Linear_weight")).containsExactly(expected, TOLERANCE);
            float[] mean = alone.gradient("01Linear_weight");
            comm.allreduce("expected", Tensor.of(mean), ReduceOp.AVERAGE);
            assertThat(trial.gradient("01Linear_weight")).containsExactly(mean, TOLERANCE);
        }
    }
}
