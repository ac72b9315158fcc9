package org.horovod4j.djl;

import static org.assertj.core.api.Assertions.assertThat;

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
import ai.djl.util.PairList;

import org.assertj.core.data.Offset;
import org.horovod4j.Communicator;
import org.junit.jupiter.api.Test;

/// The gradient of an embedding has rows for the words that a batch has, and others on each rank.
class SparseGradientIT {
    private static final int WORDS = 60;
    private static final int WIDTH = 4;
    private static final int STEPS = 5;

    @Test
    void rowsAddUpToWhatOneProcessComputes() {
        Trial.ranks(2)
                .execute(
                        comm -> {
                            rowsAddUp(comm, SparseFormat.COO, false);
                            rowsAddUp(comm, SparseFormat.COO, true);
                            rowsAddUp(comm, SparseFormat.DENSE, false);
                            aRankMayMissTheEmbeddingWhenItIsMadeDense(comm);
                        });
    }

    /// The sum of the rows of the words given.
    private static final class Words extends AbstractBlock {
        private final SparseFormat format;
        private final Parameter table =
                addParameter(
                        Parameter.builder()
                                .setName("table")
                                .setType(Parameter.Type.WEIGHT)
                                .optShape(new Shape(WORDS, WIDTH))
                                .build());

        Words(SparseFormat format) {
            this.format = format;
        }

        @Override
        protected NDList forwardInternal(
                ParameterStore store,
                NDList inputs,
                boolean training,
                PairList<String, Object> parameters) {
            NDArray words = inputs.singletonOrThrow();
            NDArray weight = store.getValue(table, words.getDevice(), training);
            return words.getNDArrayInternal().embedding(words, weight, format);
        }

        @Override
        public Shape[] getOutputShapes(Shape[] inputs) {
            return new Shape[] {inputs[0].add(WIDTH)};
        }
    }

    private static void rowsAddUp(Communicator comm, SparseFormat format, boolean asDense) {
        try (Trial trial =
                        new Trial(
                                new Words(format),
                                block ->
                                        DistributedOptimizer.wrap(Trial.sgd(), block)
                                                .communicator(comm)
                                                .sparseAsDense(asDense)
                                                .build(),
                                new Shape(1));
                Trial reference =
                        new Trial(new Words(SparseFormat.DENSE), _ -> Trial.sgd(), new Shape(1))) {
            int arrays = 0;
            for (int step = 0; step < STEPS; step++) {
                // word 7 on every rank and twice, word 20 + step on rank 0 and 30 + step on rank 1
                look(trial, 7, 20 + step + 10 * comm.rank(), 7);
                assertThat(isSparse(trial)).isEqualTo(format == SparseFormat.COO);
                trial.step();
                arrays = arrays == 0 ? trial.arrayCount() : arrays;
                assertThat(trial.arrayCount()).isEqualTo(arrays);
                look(reference, 7, 20 + step, 7, 7, 30 + step, 7);
                reference.step();
            }
            Trial.assertSameOnAllRanks(comm, trial.weights());
            assertThat(trial.weights()).containsExactly(reference.weights(), Offset.offset(1e-5f));
        }
    }

    private static void aRankMayMissTheEmbeddingWhenItIsMadeDense(Communicator comm) {
        try (Trial trial =
                new Trial(
                        new Words(SparseFormat.COO),
                        block ->
                                DistributedOptimizer.wrap(Trial.sgd(), block)
                                        .communicator(comm)
                                        .sparseAsDense(true)
                                        .build(),
                        new Shape(1))) {
            float[] before = trial.weights();
            for (int step = 0; step < 2; step++) {
                if (comm.rank() == step) {
                    look(trial, 3, 4);
                }
                trial.optimizer().synchronize();
                try (DistributedOptimizer.Skip _ = trial.optimizer().skipSynchronize()) {
                    trial.step();
                }
                Trial.assertSameOnAllRanks(comm, trial.weights());
            }
            assertThat(trial.weights()).isNotEqualTo(before);
        }
    }

    private static boolean isSparse(Trial trial) {
        try (NDArray gradient = trial.parameter("table").getArray().getGradient()) {
            return gradient.isSparse();
        }
    }

    /// A backward pass of the mean square of the rows.
    private static void look(Trial trial, int... words) {
        try (NDManager scratch = trial.model.getNDManager().newSubManager();
                GradientCollector collector = trial.trainer.newGradientCollector()) {
            NDArray indices = scratch.create(words).toType(DataType.INT64, false);
            NDArray rows = trial.trainer.forward(new NDList(indices)).singletonOrThrow();
            collector.backward(rows.square().mean());
        }
    }
}
