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

/// Rows that stay on their rank, where a backward pass has left one of them twice and none in order.
class KeptGradientTest {
    private static final int ROWS = 5;

    @ParameterizedTest(name = "{0} ranks, as dense: {1}, scaled: {2}")
    @CsvSource({"1, false, true", "2, false, true", "2, true, true", "3, false, false"})
    void rowsOfALocalParameterAddUp(int size, boolean asDense, boolean scaled) {
        World.run(
                size,
                comm -> {
                    Toy toy = toy();
                    GradientSettings settings =
                            GradientSettings.builder()
                                    .local("embedding"::equals)
                                    .scaleLocalGradients(scaled)
                                    .sparseAsDense(asDense)
                                    .build();
                    new GradientReducer(comm.processSet(), toy, settings).synchronize();
                    assertThat(whole(toy)).containsExactly(sums(scaled ? 1f / size : 1));
                });
    }

    @Test
    void rowsOfARankByItselfAddUp() {
        World.run(
                2,
                comm -> {
                    ProcessSet first = comm.addProcessSet(0);
                    Toy toy = toy();
                    GradientSettings settings =
                            GradientSettings.builder()
                                    .backwardPassesPerStep(2)
                                    .averageAccumulated(true)
                                    .build();
                    new GradientReducer(first, toy, settings).synchronize();
                    assertThat(whole(toy)).containsExactly(sums(0.5f));
                });
    }

    private static Toy toy() {
        Toy toy = new Toy(1, "embedding");
        toy.add(
                "embedding",
                new SparseTensor(
                        Tensor.of(new long[] {3, 1, 3}),
                        Tensor.of(new float[] {6, 12, 24, 48, 96, 192}, 3, 2),
                        Shape.of(ROWS, 2)));
        return toy;
    }

    private static float[] sums(float factor) {
        return new float[] {0, 0, 24 * factor, 48 * factor, 0, 0, 102 * factor, 204 * factor, 0, 0};
    }

    private static float[] whole(Toy toy) {
        assertThat(toy.returned("embedding")).isInstanceOf(Gradient.Dense.class);
        return ((Gradient.Dense) toy.returned("embedding")).tensor().toFloatArray();
    }
}
