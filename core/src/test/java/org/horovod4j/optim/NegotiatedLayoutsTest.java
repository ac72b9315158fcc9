package org.horovod4j.optim;

import static org.assertj.core.api.Assertions.assertThat;

import org.horovod4j.Communicator;
import org.horovod4j.DataType;
import org.horovod4j.ReduceOp;
import org.horovod4j.Shape;
import org.horovod4j.SparseResult;
import org.horovod4j.SparseTensor;
import org.horovod4j.Tensor;
import org.horovod4j.testing.World;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;

/// Ranks that do not know the layouts of other ranks yet.
class NegotiatedLayoutsTest {
    private static final int ROWS = 50;

    /// Gradients with one number per row, which exist after the first backward pass.
    private static final class FakeSparseGradients implements SparseGradients {
        private final List<String> names;
        private final Map<Integer, Gradient> gradients = new HashMap<>();
        private final Map<Integer, Gradient> results = new HashMap<>();
        final List<String> acquired = new ArrayList<>();

        FakeSparseGradients(String... names) {
            this.names = List.of(names);
        }

        void setRows(int parameter, float value, long... indices) {
            float[] values = new float[indices.length];
            Arrays.fill(values, value);
            gradients.put(
                    parameter,
                    new Gradient.Sparse(
                            new SparseTensor(
                                    Tensor.of(indices),
                                    Tensor.of(values, indices.length, 1),
                                    Shape.of(ROWS, 1))));
        }

        void setDense(int parameter, float value) {
            float[] values = new float[ROWS];
            Arrays.fill(values, value);
            gradients.put(parameter, new Gradient.Dense(Tensor.of(values, ROWS, 1)));
        }

        /// Row `index` of the reduced gradient.
        float reducedRow(int parameter, int index) {
            return switch (Objects.requireNonNull(results.get(parameter))) {
                case Gradient.Dense(Tensor whole) -> whole.toFloatArray()[index];
                case Gradient.Sparse(SparseTensor rows) ->
                        new SparseResult.Rows(rows).toDense().toFloatArray()[index];
            };
        }

        @Override
        public GradientLayout layout(int parameter) {
            return switch (gradients.get(parameter)) {
                case null -> GradientLayout.UNKNOWN;
                case Gradient.Sparse _ -> GradientLayout.SPARSE;
                case Gradient.Dense _ -> GradientLayout.DENSE;
            };
        }

        @Override
        public SparseTensor acquireEmpty(int parameter) {
            acquired.add("no rows of " + names.get(parameter));
            return new SparseTensor(
                    Tensor.of(new long[0]),
                    Tensor.zeros(DataType.FLOAT32, Shape.of(0, 1)),
                    Shape.of(ROWS, 1));
        }

        @Override
        public List<String> names() {
            return names;
        }

        @Override
        public boolean isTrainable(int parameter) {
            return true;
        }

        @Override
        public Gradient acquire(int parameter) {
            acquired.add(names.get(parameter));
            return gradients.computeIfAbsent(
                    parameter, _ -> new Gradient.Dense(Tensor.of(new float[ROWS], ROWS, 1)));
        }

        @Override
        public void setReduced(int parameter, Gradient reduced) {
            results.put(parameter, reduced);
        }
    }

    private static GradientReducer sum(Communicator comm, FakeSparseGradients gradients) {
        return new GradientReducer(
                comm.processSet(), gradients, GradientSettings.builder().op(ReduceOp.SUM).build());
    }

    @ParameterizedTest
    @ValueSource(ints = {2, 3})
    void rankWithoutGradientContributesNoRows(int size) {
        World.run(
                size,
                comm -> {
                    FakeSparseGradients gradients = new FakeSparseGradients("embedding");
                    GradientReducer reducer = sum(comm, gradients);
                    for (int step = 0; step < 2 * size; step++) {
                        if (comm.rank() == step % size) {
                            gradients.setRows(0, 1 + step, 7);
                            reducer.ready(0);
                        } else if (step >= size || comm.rank() < step) {
                            gradients.setRows(0, 0, 7);
                        }
                        reducer.synchronize();
                        assertThat(gradients.reducedRow(0, 7)).isEqualTo(1 + step);
                        assertThat(gradients.reducedRow(0, 8)).isZero();
                    }
                    assertThat(gradients.acquired)
                            .filteredOn(acquired -> acquired.equals("no rows of embedding"))
                            .hasSize(comm.rank());
                });
    }

    @Test
    void denseOnOneRankMakesDenseOnAllRanks() {
        World.run(
                3,
                comm -> {
                    FakeSparseGradients gradients = new FakeSparseGradients("shared");
                    GradientReducer reducer = sum(comm, gradients);
                    switch (comm.rank()) {
                        case 0 -> {
                            gradients.setDense(0, 1);
                            reducer.ready(0);
                            assertThat(gradients.acquired).containsExactly("shared"); // at once
                        }
                        case 1 -> {
                            gradients.setRows(0, 2, 5);
                            reducer.ready(0);
                            assertThat(gradients.acquired).isEmpty();
                        }
                        default -> {}
                    }
                    reducer.synchronize();
                    assertThat(gradients.reducedRow(0, 4)).isEqualTo(1);
                    assertThat(gradients.reducedRow(0, 5)).isEqualTo(3);
                });
    }

    @Test
    void denseGradientIsSentAsAllRowsWhenSparseWasAgreed() {
        World.run(
                2,
                comm -> {
                    FakeSparseGradients gradients = new FakeSparseGradients("tied");
                    GradientReducer reducer = sum(comm, gradients);
                    gradients.setRows(0, 1, 3);
                    reducer.synchronize();
                    if (comm.rank() == 0) {
                        gradients.setDense(0, 4);
                    }
                    reducer.ready(0);
                    reducer.synchronize();
                    assertThat(gradients.reducedRow(0, 3)).isEqualTo(5);
                    assertThat(gradients.reducedRow(0, 4)).isEqualTo(4);
                });
    }

    @Test
    void gradientAbsentOnAllRanksIsNotReduced() {
        World.run(
                2,
                comm -> {
                    FakeSparseGradients gradients = new FakeSparseGradients("used", "later");
                    GradientReducer reducer = sum(comm, gradients);
                    gradients.setDense(0, 1);
                    reducer.ready(0);
                    reducer.synchronize();
                    assertThat(gradients.acquired).containsExactly("used");
                    if (comm.rank() == 1) {
                        gradients.setRows(1, 2, 9);
                    }
                    reducer.synchronize();
                    assertThat(gradients.reducedRow(1, 9)).isEqualTo(2);
                });
    }

    /// The dense members of a group are one operation, so they must be the same on all ranks.
    @Test
    void groupLaunchWaitsForLayoutsOfAllMembers() {
        World.run(
                2,
                comm -> {
                    FakeSparseGradients gradients = new FakeSparseGradients("a", "b", "c");
                    GradientReducer reducer =
                            new GradientReducer(
                                    comm.processSet(),
                                    gradients,
                                    GradientSettings.builder()
                                            .op(ReduceOp.SUM)
                                            .groups(new GradientGroups.Count(1))
                                            .build());
                    for (int step = 0; step < 2; step++) {
                        gradients.acquired.clear();
                        gradients.setDense(0, 1);
                        if (comm.rank() == 0) {
                            gradients.setDense(1, 2);
                        } else {
                            gradients.setRows(1, 3, 6);
                        }
                        gradients.setRows(2, 4, 6);
                        for (int parameter = 2; parameter >= 0; parameter--) {
                            reducer.ready(parameter);
                        }
                        assertThat(gradients.acquired).hasSize(step == 0 ? 0 : 3);
                        reducer.synchronize();
                        assertThat(gradients.reducedRow(0, 6)).isEqualTo(2);
                        assertThat(gradients.reducedRow(1, 6)).isEqualTo(5);
                        assertThat(gradients.reducedRow(2, 6)).isEqualTo(8);
                    }
                });
    }

    /// A rank that has joined does not learn what the others agree on.
    @Test
    void joinedRankNegotiatesAgainInNextEpoch() {
        World.run(
                2,
                comm -> {
                    FakeSparseGradients gradients = new FakeSparseGradients("used", "embedding");
                    GradientReducer reducer = sum(comm, gradients);
                    if (comm.rank() == 0) {
                        gradients.setRows(1, 1, 2);
                        gradients.setDense(0, 1);
                        reducer.ready(0);
                        reducer.synchronize();
                        assertThat(gradients.reducedRow(1, 2)).isEqualTo(1);
                    }
                    comm.join();
                    gradients.setDense(0, 1);
                    reducer.ready(0);
                    reducer.synchronize();
                    assertThat(gradients.reducedRow(0, 0)).isEqualTo(2);
                    assertThat(gradients.reducedRow(1, 2)).isEqualTo(1);
                });
    }
}
