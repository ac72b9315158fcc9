package org.horovod4j.compression;

import static org.assertj.core.api.Assertions.assertThat;

import org.horovod4j.Tensor;
import org.junit.jupiter.api.Test;

import java.util.Comparator;
import java.util.SplittableRandom;
import java.util.stream.IntStream;

class TopKSelectionTest {
    private static int[] largest(double[] values, int count) {
        return TopKSelection.select(new DoubleView(Tensor.of(values)), count);
    }

    @Test
    void selectsSamePositionsAsSort() {
        SplittableRandom random = new SplittableRandom(18);
        for (int round = 0; round < 200; round++) {
            int length = random.nextInt(1, 60);
            int count = random.nextInt(length + 1);
            int distinct = random.nextInt(1, 30);
            double[] values = new double[length];
            for (int i = 0; i < length; i++) {
                values[i] = random.nextInt(-distinct, distinct + 1) * Math.PI;
            }
            int[] expected =
                    IntStream.range(0, length)
                            .boxed()
                            .sorted(Comparator.comparingDouble((Integer i) -> -Math.abs(values[i])))
                            .limit(count)
                            .mapToInt(i -> i)
                            .sorted()
                            .toArray();
            assertThat(largest(values, count)).isEqualTo(expected);
        }
    }

    @Test
    void valuesDifferingInLastBitAreDistinguished() {
        assertThat(largest(new double[] {1, Math.nextUp(1.0), Math.nextDown(1.0)}, 1))
                .containsExactly(1);
    }

    @Test
    void tiesSelectFirstPositions() {
        assertThat(largest(new double[] {0, -2, 2, 1, -2, 2}, 3)).containsExactly(1, 2, 4);
        assertThat(largest(new double[] {0, -0.0, 0}, 2)).containsExactly(0, 1);
    }

    @Test
    void infinityAndNaNComeFirst() {
        double[] values = {1e300, Double.NEGATIVE_INFINITY, 5, Double.NaN};
        assertThat(largest(values, 2)).containsExactly(1, 3);
    }

    @Test
    void countMayBeZeroOrAll() {
        assertThat(largest(new double[] {3, 1, 2}, 3)).containsExactly(0, 1, 2);
        assertThat(largest(new double[] {3, 1, 2}, 0)).isEmpty();
        assertThat(largest(new double[0], 0)).isEmpty();
    }
}
