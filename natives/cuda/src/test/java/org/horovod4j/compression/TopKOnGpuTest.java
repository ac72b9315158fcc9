package org.horovod4j.compression;

import static org.assertj.core.api.Assertions.assertThat;

import static java.lang.foreign.ValueLayout.JAVA_DOUBLE_UNALIGNED;
import static java.lang.foreign.ValueLayout.JAVA_FLOAT_UNALIGNED;
import static java.lang.foreign.ValueLayout.JAVA_INT;

import org.horovod4j.DataType;
import org.horovod4j.Shape;
import org.horovod4j.Tensor;
import org.horovod4j.cuda.Gpu;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

import java.lang.foreign.MemorySegment;
import java.util.Arrays;
import java.util.Random;

/// Compares the selection of the largest values on a GPU with that of [TopKSelection].
@Tag("gpu")
class TopKOnGpuTest {
    @ParameterizedTest(name = "{1} of {0} values")
    @CsvSource({"1, 1", "7, 0", "7, 3", "256, 256", "1000, 10", "100003, 1000", "3000001, 30000"})
    void selectsTheSamePositionsAndValuesAsTheCpu(int count, int selected) {
        Random random = new Random(42);
        for (DataType dataType : new DataType[] {DataType.FLOAT32, DataType.FLOAT64}) {
            Tensor values = Tensor.zeros(dataType, Shape.of(count));
            DoubleView view = new DoubleView(values);
            for (int i = 0; i < count; i++) {
                view.set(i, value(random, i));
            }
            int[] expected = TopKSelection.select(view, selected);
            try (Gpu gpu = Gpu.open()) {
                MemorySegment found = gpu.select(dataType, values.segment(), count, selected);
                long positionBytes = (long) selected * Integer.BYTES;
                assertThat(found.asSlice(0, positionBytes).toArray(JAVA_INT)).isEqualTo(expected);
                double[] picked = new double[selected];
                Arrays.setAll(
                        picked,
                        i ->
                                dataType == DataType.FLOAT32
                                        ? found.get(JAVA_FLOAT_UNALIGNED, positionBytes + 4L * i)
                                        : found.get(JAVA_DOUBLE_UNALIGNED, positionBytes + 8L * i));
                double[] largest = new double[selected];
                Arrays.setAll(largest, i -> view.get(expected[i]));
                assertThat(picked).isEqualTo(largest);
            }
        }
    }

    /// Many equal values, zeros, infinities and NaN among random ones.
    private static double value(Random random, int i) {
        return switch (i % 17) {
            case 0 -> 0;
            case 1, 2, 3 -> random.nextInt(5) - 2;
            case 4 -> i == 4 ? Double.NaN : -0.0;
            case 5 -> i < 100 ? Double.NEGATIVE_INFINITY : 1e-40;
            default -> random.nextGaussian();
        };
    }
}
