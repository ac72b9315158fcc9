package org.horovod4j.optim;

import static org.assertj.core.api.Assertions.assertThat;

import org.assertj.core.data.Offset;
import org.horovod4j.Shape;
import org.horovod4j.SparseResult;
import org.horovod4j.SparseTensor;
import org.horovod4j.Tensor;
import org.horovod4j.testing.World;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class SparseGradientTest {
    private static final int ROWS = 40;

    @ParameterizedTest(name = "{0} ranks, as dense: {1}")
    @CsvSource({"1, false", "1, true", "2, false", "2, true", "3, false", "3, true"})
    void sparseGradientsReduceToTheDenseResult(int size, boolean asDense) {
        World.run(
                size,
                comm -> {
                    FakeGradients fakeGradients = new FakeGradients(1, "embedding");
                    // row 3 twice on every rank, and one different row on each
                    float[] values = {1, 2, 3, 4, 5, 6};
                    fakeGradients.add(
                            "embedding",
                            new SparseTensor(
                                    Tensor.of(new long[] {3, 10 + comm.rank(), 3}),
                                    Tensor.of(values, 3, 2),
                                    Shape.of(ROWS, 2)));
                    GradientReducer reducer =
                            new GradientReducer(
                                    comm.processSet(),
                                    fakeGradients,
                                    GradientSettings.builder()
                                            .sparseAsDense(asDense)
                                            .backwardPassesPerStep(2)
                                            .averageAccumulated(true)
                                            .build());
                    reducer.synchronize();
                    float[] expected = new float[ROWS * 2];
                    expected[3 * 2] = (1 + 5) / 2f;
                    expected[3 * 2 + 1] = (2 + 6) / 2f;
                    for (int rank = 0; rank < size; rank++) {
                        expected[(10 + rank) * 2] = 3 / 2f / size;
                        expected[(10 + rank) * 2 + 1] = 4 / 2f / size;
                    }
                    assertThat(dense(fakeGradients.reduced("embedding")))
                            .containsExactly(expected, Offset.offset(1e-6f));
                    boolean isDense = fakeGradients.reduced("embedding") instanceof Gradient.Dense;
                    assertThat(isDense).isEqualTo(asDense || size == 1);
                });
    }

    private static float[] dense(Gradient gradient) {
        return switch (gradient) {
            case Gradient.Dense(Tensor tensor) -> tensor.toFloatArray();
            case Gradient.Sparse(SparseTensor rows) ->
                    new SparseResult.Rows(rows).toDense().toFloatArray();
        };
    }
}
