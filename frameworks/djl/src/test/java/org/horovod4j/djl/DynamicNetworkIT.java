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

/// Steps that train a part of the network: different branches on different ranks, frozen layers, local
/// layers.
class DynamicNetworkIT {
    private static final Offset<Float> TOLERANCE = Offset.offset(1e-4f);
    private static final int BATCH = 4;

    @Test
    void trainsWhenRanksUseDifferentParameters() {
        TestTraining.ranks(2)
                .execute(
                        comm -> {
                            ranksMayTakeDifferentBranches(comm, true);
                            ranksMayTakeDifferentBranches(comm, false);
                            branchesMayChangeBetweenPassesOfOneStep(comm, true);
                            branchesMayChangeBetweenPassesOfOneStep(comm, false);
                            layersMayBeFrozenBetweenSteps(comm, true);
                            layersMayBeFrozenBetweenSteps(comm, false);
                            localParametersAreNotReduced(comm, true);
                            localParametersAreNotReduced(comm, false);
                        });
    }

    /// A network that uses one of two layers, or both.
    private static final class BranchingBlock extends AbstractBlock {
        private final Block left = addChildBlock("left", linear());
        private final Block right = addChildBlock("right", linear());
        private boolean isLeft;
        private boolean isRight;

        void chooseBranches(boolean toLeft, boolean toRight) {
            isLeft = toLeft;
            isRight = toRight;
        }

        private static Block linear() {
            return Linear.builder().setUnits(TestTraining.OUTPUTS).build();
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

    private static TestTraining branches(BranchingBlock block, Communicator comm, boolean overlap) {
        return new TestTraining(
                block,
                b ->
                        DistributedOptimizer.wrap(TestTraining.sgd(), b)
                                .communicator(comm)
                                .overlap(overlap)
                                .build(),
                TestTraining.INPUT);
    }

    private static void ranksMayTakeDifferentBranches(Communicator comm, boolean overlap) {
        BranchingBlock block = new BranchingBlock();
        try (TestTraining testTraining = branches(block, comm, overlap)) {
            float[] left = testTraining.weight("01left_weight");
            float[] right = testTraining.weight("02right_weight");
            for (int step = 0; step < 4; step++) {
                // first a rank that has never used the left layer, then one that has
                boolean isLeft = comm.rank() == 0 || step == 3;
                block.chooseBranches(isLeft, !isLeft);
                testTraining.pass(step * BATCH, (step + 1) * BATCH);
                testTraining.step();
                TestTraining.assertSameOnAllRanks(comm, testTraining.weights());
            }
            assertThat(testTraining.weight("01left_weight")).isNotEqualTo(left);
            assertThat(testTraining.weight("02right_weight")).isNotEqualTo(right);
        }
    }

    /// One rank uses the left layer, the other changes layers, so that no parameter is in both of its
    /// passes.
    private static void branchesMayChangeBetweenPassesOfOneStep(
            Communicator comm, boolean overlap) {
        BranchingBlock block = new BranchingBlock();
        try (TestTraining testTraining = branches(block, comm, overlap)) {
            testTraining.optimizer().setBackwardPassesPerStep(2);
            float[] before = testTraining.weights();
            for (int pass = 0; pass < 4; pass++) {
                boolean isLeft = comm.rank() == 0 || pass % 2 == 0;
                block.chooseBranches(isLeft, !isLeft);
                testTraining.pass(pass * BATCH, (pass + 1) * BATCH);
                testTraining.step();
                if (pass == 0) {
                    assertThat(testTraining.weights()).containsExactly(before);
                }
            }
            assertThat(testTraining.weights()).isNotEqualTo(before);
            TestTraining.assertSameOnAllRanks(comm, testTraining.weights());
            assertThat(testTraining.optimizer().overlap().overlapTiming().steps()).isEqualTo(2);
        }
    }

    /// As in adversarial training.
    private static void layersMayBeFrozenBetweenSteps(Communicator comm, boolean overlap) {
        BranchingBlock block = new BranchingBlock();
        BranchingBlock alone = new BranchingBlock();
        try (TestTraining testTraining = branches(block, comm, overlap);
                TestTraining reference =
                        new TestTraining(alone, _ -> TestTraining.sgd(), TestTraining.INPUT)) {
            for (int step = 0; step < 6; step++) {
                boolean leftTrains = step % 2 == 0;
                int from = step * BATCH * comm.size() + comm.rank() * BATCH;
                alternate(testTraining, block, leftTrains, from, from + BATCH);
                int whole = step * BATCH * comm.size();
                alternate(reference, alone, leftTrains, whole, whole + BATCH * comm.size());
            }
            TestTraining.assertSameOnAllRanks(comm, testTraining.weights());
            assertThat(testTraining.weights()).containsExactly(reference.weights(), TOLERANCE);
            // weight and bias of one layer in each step, including layers that were frozen in
            // between
            assertThat(testTraining.optimizer().overlap().overlapTiming())
                    .matches(
                            overlapTiming ->
                                    overlapTiming.launchedByPasses() == (overlap ? 6 * 2 : 0))
                    .matches(
                            overlapTiming ->
                                    overlapTiming.launchedBySteps() == (overlap ? 0 : 6 * 2));
        }
    }

    private static void alternate(
            TestTraining testTraining, BranchingBlock block, boolean leftTrains, int from, int to) {
        block.chooseBranches(true, true);
        block.left.freezeParameters(!leftTrains);
        block.right.freezeParameters(leftTrains);
        testTraining.pass(from, to);
        testTraining.step();
    }

    private static void localParametersAreNotReduced(Communicator comm, boolean scaled) {
        try (TestTraining testTraining =
                        new TestTraining(
                                TestTraining.network(),
                                block ->
                                        DistributedOptimizer.wrap(TestTraining.sgd(), block)
                                                .communicator(comm)
                                                .overlap(true)
                                                .local(name -> name.startsWith("05"))
                                                .scaleLocalGradients(scaled)
                                                .build(),
                                TestTraining.INPUT);
                TestTraining alone =
                        new TestTraining(
                                TestTraining.network(),
                                _ -> TestTraining.sgd(),
                                TestTraining.INPUT)) {
            int from = comm.rank() * BATCH;
            testTraining.pass(from, from + BATCH);
            alone.pass(from, from + BATCH);
            testTraining.optimizer().synchronize();
            float[] expected = alone.gradient("05Linear_weight");
            for (int i = 0; i < expected.length; i++) {
                expected[i] /= scaled ? comm.size() : 1;
            }
            assertThat(testTraining.gradient("05Linear_weight"))
                    .containsExactly(expected, TOLERANCE);
            float[] mean = alone.gradient("01Linear_weight");
            comm.allreduce("expected", Tensor.of(mean), ReduceOp.AVERAGE);
            assertThat(testTraining.gradient("01Linear_weight")).containsExactly(mean, TOLERANCE);
        }
    }
}
