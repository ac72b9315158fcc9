package org.horovod4j.optim;

import static org.assertj.core.api.Assertions.assertThat;

import org.horovod4j.ProcessSet;
import org.horovod4j.Shape;
import org.horovod4j.SparseTensor;
import org.horovod4j.Tensor;
import org.horovod4j.testing.World;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/// Sparse gradients that are not exchanged, with duplicate and unordered rows.
class LocalGradientTest {
    private static final int ROWS = 5;

    @ParameterizedTest(name = "{0} ranks, as dense: {1}, scaled: {2}")
    @CsvSource({"1, false, true", "2, false, true", "2, true, true", "3, false, false"})
    void localSparseGradientIsSummedIntoDense(int size, boolean asDense, boolean scaled) {
        World.run(
                size,
                comm -> {
                    FakeGradients fakeGradients = toy();
                    GradientSettings settings =
                            GradientSettings.builder()
                                    .local("embedding"::equals)
                                    .scaleLocalGradients(scaled)
                                    .sparseAsDense(asDense)
                                    .build();
                    new GradientReducer(comm.processSet(), fakeGradients, settings).synchronize();
                    assertThat(whole(fakeGradients)).containsExactly(sums(scaled ? 1f / size : 1));
                });
    }

    @Test
    void singleRankSparseGradientIsSummedIntoDense() {
        World.run(
                2,
                comm -> {
                    ProcessSet first = comm.addProcessSet(0);
                    FakeGradients fakeGradients = toy();
                    GradientSettings settings =
                            GradientSettings.builder()
                                    .backwardPassesPerStep(2)
                                    .averageAccumulated(true)
                                    .build();
                    new GradientReducer(first, fakeGradients, settings).synchronize();
                    assertThat(whole(fakeGradients)).containsExactly(sums(0.5f));
                });
    }

    private static FakeGradients toy() {
        FakeGradients fakeGradients = new FakeGradients(1, "embedding");
        fakeGradients.add(
                "embedding",
                new SparseTensor(
                        Tensor.of(new long[] {3, 1, 3}),
                        Tensor.of(new float[] {6, 12, 24, 48, 96, 192}, 3, 2),
                        Shape.of(ROWS, 2)));
        return fakeGradients;
    }

    private static float[] sums(float factor) {
        return new float[] {0, 0, 24 * factor, 48 * factor, 0, 0, 102 * factor, 204 * factor, 0, 0};
    }

    private static float[] whole(FakeGradients fakeGradients) {
        assertThat(fakeGradients.reduced("embedding")).isInstanceOf(Gradient.Dense.class);
        return ((Gradient.Dense) fakeGradients.reduced("embedding")).tensor().toFloatArray();
    }
}
