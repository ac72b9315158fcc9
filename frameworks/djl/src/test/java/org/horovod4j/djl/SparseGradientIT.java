package org.horovod4j.djl;

import static org.assertj.core.api.Assertions.assertThat;

import ai.djl.Device;
import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDList;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import ai.djl.ndarray.types.SparseFormat;
import ai.djl.nn.AbstractBlock;
import ai.djl.nn.Parameter;
import ai.djl.training.GradientCollector;
import ai.djl.training.ParameterStore;
import ai.djl.training.optimizer.Optimizer;
import ai.djl.util.PairList;

import org.assertj.core.data.Offset;
import org.horovod4j.Communicator;
import org.horovod4j.ProcessSet;
import org.horovod4j.ReduceOp;
import org.junit.jupiter.api.Test;

import java.util.function.Supplier;
import java.util.function.UnaryOperator;

/// The gradient of an embedding has rows for the words of a batch, different ones on each rank.
class SparseGradientIT {
    private static final int WORDS = 60;
    private static final int WIDTH = 4;
    private static final int STEPS = 5;

    @Test
    void reducedRowsEqualOneProcess() {
        TestTraining.ranksOnAllProcessors(2)
                .execute(
                        comm -> {
                            rowsAddUp(
                                    comm,
                                    Device.cpu(),
                                    SparseFormat.COO,
                                    builder -> builder.overlap(true));
                            rowsAddUp(comm, Device.cpu(), SparseFormat.COO, builder -> builder);
                            rowsAddUp(
                                    comm,
                                    Device.cpu(),
                                    SparseFormat.COO,
                                    builder -> builder.overlap(true).sparseAsDense(true));
                            rowsAddUp(
                                    comm,
                                    Device.cpu(),
                                    SparseFormat.DENSE,
                                    builder -> builder.overlap(true));
                            rankMayNotUseEmbedding(comm, Device.cpu(), true, true);
                            rankMayNotUseEmbedding(comm, Device.cpu(), true, false);
                            rankMayNotUseEmbedding(comm, Device.cpu(), false, true);
                            rankMayNotUseEmbedding(comm, Device.cpu(), false, false);
                        });
    }

    @Test
    void singleRankEqualsDenseGradients() {
        TestTraining.ranks(1)
                .execute(
                        comm -> {
                            trainsAsWithDenseGradients(comm, 1, builder -> builder);
                            trainsAsWithDenseGradients(
                                    comm, 1, builder -> builder.sparseAsDense(true));
                            trainsAsWithDenseGradients(
                                    comm, 1, builder -> builder.local("table"::equals));
                            trainsAsWithDenseGradients(
                                    comm, 1, builder -> builder.op(ReduceOp.ADASUM));
                            trainsAsWithDenseGradients(
                                    comm,
                                    2,
                                    builder ->
                                            builder.backwardPassesPerStep(2)
                                                    .averageAccumulated(true));
                        });
    }

    @Test
    void unreducedSparseGradientsEqualDense() {
        TestTraining.ranksOnAllProcessors(2)
                .execute(
                        comm -> {
                            trainsAsWithDenseGradients(
                                    comm, 1, builder -> builder.local("table"::equals));
                            trainsAsWithDenseGradients(
                                    comm,
                                    1,
                                    builder -> builder.local("table"::equals).sparseAsDense(true));
                            trainsAsWithDenseGradients(
                                    comm,
                                    2,
                                    builder ->
                                            builder.local("table"::equals)
                                                    .backwardPassesPerStep(2)
                                                    .overlap(true));
                            ProcessSet first = comm.addProcessSet(0);
                            trainsAsWithDenseGradients(
                                    comm, 1, builder -> builder.processSet(first));
                            trainsAsWithDenseGradients(
                                    comm,
                                    1,
                                    builder -> builder.processSet(first).sparseAsDense(true));
                        });
    }

    @Test
    void adasumSupportsSparseGradients() {
        TestTraining.ranks(2)
                .execute(
                        comm -> {
                            trainsAsWithDenseGradients(
                                    comm, 1, builder -> builder.op(ReduceOp.ADASUM));
                            trainsAsWithDenseGradients(
                                    comm,
                                    1,
                                    builder -> builder.op(ReduceOp.ADASUM).sparseAsDense(true));
                        });
    }

    /// The rows of the given words plus a bias; without words, only the bias.
    private static final class EmbeddingBlock extends AbstractBlock {
        private final SparseFormat format;
        private final Parameter bias =
                addParameter(
                        Parameter.builder()
                                .setName("bias")
                                .setType(Parameter.Type.BIAS)
                                .optShape(new Shape(WIDTH))
                                .build());
        private final Parameter table =
                addParameter(
                        Parameter.builder()
                                .setName("table")
                                .setType(Parameter.Type.WEIGHT)
                                .optShape(new Shape(WORDS, WIDTH))
                                .build());

        EmbeddingBlock(SparseFormat format) {
            this.format = format;
        }

        @Override
        protected NDList forwardInternal(
                ParameterStore store,
                NDList inputs,
                boolean training,
                PairList<String, Object> parameters) {
            NDArray words = inputs.singletonOrThrow();
            NDArray shift = store.getValue(bias, words.getDevice(), training);
            if (words.isEmpty()) {
                return new NDList(shift.mul(shift));
            }
            NDArray weight = store.getValue(table, words.getDevice(), training);
            NDArray rows =
                    words.getNDArrayInternal().embedding(words, weight, format).singletonOrThrow();
            return new NDList(rows.add(shift));
        }

        @Override
        public Shape[] getOutputShapes(Shape[] inputs) {
            return new Shape[] {inputs[0].add(WIDTH)};
        }
    }

    /// Compared with the same training without sparse gradients on the CPU.
    static void rowsAddUp(
            Communicator comm,
            Device device,
            SparseFormat format,
            UnaryOperator<DistributedOptimizer.Builder> settings) {
        try (TestTraining testTraining = trial(comm, device, format, TestTraining.sgd(), settings);
                TestTraining reference =
                        new TestTraining(
                                new EmbeddingBlock(SparseFormat.DENSE),
                                _ -> TestTraining.sgd(),
                                new Shape(1))) {
            int arrays = 0;
            for (int step = 0; step < STEPS; step++) {
                // word 7 on every rank and twice, word 20 + step on rank 0 and 30 + step on rank 1
                lookUp(testTraining, 7, 20 + step + 10 * comm.rank(), 7);
                assertThat(isSparse(testTraining)).isEqualTo(format == SparseFormat.COO);
                testTraining.step();
                arrays = arrays == 0 ? testTraining.arrayCount() : arrays;
                assertThat(testTraining.arrayCount()).isEqualTo(arrays);
                lookUp(reference, 7, 20 + step, 7, 7, 30 + step, 7);
                reference.step();
            }
            TestTraining.assertSameOnAllRanks(comm, testTraining.weights());
            assertThat(testTraining.weights())
                    .containsExactly(reference.weights(), Offset.offset(1e-5f));
        }
    }

    /// Compared with the same training without sparse gradients, with momentum and with an adaptive
    /// optimizer.
    private static void trainsAsWithDenseGradients(
            Communicator comm, int passes, UnaryOperator<DistributedOptimizer.Builder> settings) {
        trainsAsWithDenseGradients(comm, passes, TestTraining::sgd, settings);
        trainsAsWithDenseGradients(comm, passes, () -> Optimizer.adam().build(), settings);
    }

    private static void trainsAsWithDenseGradients(
            Communicator comm,
            int passes,
            Supplier<Optimizer> optimizer,
            UnaryOperator<DistributedOptimizer.Builder> settings) {
        try (TestTraining testTraining =
                        trial(comm, Device.cpu(), SparseFormat.COO, optimizer.get(), settings);
                TestTraining reference =
                        trial(comm, Device.cpu(), SparseFormat.DENSE, optimizer.get(), settings)) {
            float[] before = testTraining.weight("table");
            int arrays = 0;
            for (int step = 0; step < STEPS; step++) {
                for (int pass = 0; pass < passes; pass++) {
                    // duplicate and unordered rows, different on each rank and in each pass
                    int[] words = {20 + step + 10 * comm.rank(), 7 + pass, 30, 7};
                    lookUp(testTraining, words);
                    assertThat(isSparse(testTraining)).isTrue();
                    testTraining.step();
                    lookUp(reference, words);
                    reference.step();
                }
                arrays = arrays == 0 ? testTraining.arrayCount() : arrays;
                assertThat(testTraining.arrayCount()).isEqualTo(arrays);
            }
            assertThat(testTraining.weight("table")).isNotEqualTo(before);
            assertThat(testTraining.weights())
                    .containsExactly(reference.weights(), Offset.offset(1e-5f));
        }
    }

    private static TestTraining trial(
            Communicator comm,
            Device device,
            SparseFormat format,
            Optimizer optimizer,
            UnaryOperator<DistributedOptimizer.Builder> settings) {
        return new TestTraining(
                device,
                new EmbeddingBlock(format),
                block ->
                        settings.apply(
                                        DistributedOptimizer.wrap(optimizer, block)
                                                .communicator(comm))
                                .build(),
                new Shape(1));
    }

    /// In its first steps too, when the layout on the other rank is unknown.
    static void rankMayNotUseEmbedding(
            Communicator comm, Device device, boolean asDense, boolean overlap) {
        try (TestTraining testTraining =
                        trial(
                                comm,
                                device,
                                SparseFormat.COO,
                                TestTraining.sgd(),
                                builder ->
                                        builder.op(ReduceOp.SUM)
                                                .sparseAsDense(asDense)
                                                .overlap(overlap));
                TestTraining reference =
                        new TestTraining(
                                new EmbeddingBlock(SparseFormat.DENSE),
                                _ -> TestTraining.sgd(),
                                new Shape(1))) {
            // none of them, the second, the second, the first, both
            boolean[][] looking = {
                {false, false}, {false, true}, {false, true}, {true, false}, {true, true}
            };
            for (boolean[] ranks : looking) {
                for (int rank = 0; rank < comm.size(); rank++) {
                    int[] words = ranks[rank] ? new int[] {3, 4 + rank} : new int[0];
                    lookUp(reference, words);
                    if (rank == comm.rank()) {
                        lookUp(testTraining, words);
                    }
                }
                testTraining.optimizer().synchronize();
                try (DistributedOptimizer.SkipScope _ =
                        testTraining.optimizer().skipSynchronize()) {
                    testTraining.step();
                }
                reference.step();
                TestTraining.assertSameOnAllRanks(comm, testTraining.weights());
            }
            assertThat(isSparse(testTraining)).isEqualTo(!asDense);
            assertThat(testTraining.weights())
                    .containsExactly(reference.weights(), Offset.offset(1e-5f));
        }
    }

    private static boolean isSparse(TestTraining testTraining) {
        try (NDArray gradient = testTraining.parameter("table").getArray().getGradient()) {
            return gradient.isSparse();
        }
    }

    /// A backward pass with the mean square of the rows as loss.
    private static void lookUp(TestTraining testTraining, int... words) {
        try (NDManager scratch = testTraining.model.getNDManager().newSubManager();
                GradientCollector collector = testTraining.trainer.newGradientCollector()) {
            NDArray indices = scratch.create(words).toType(DataType.INT64, false);
            NDArray rows = testTraining.trainer.forward(new NDList(indices)).singletonOrThrow();
            collector.backward(rows.square().mean());
        }
    }
}
