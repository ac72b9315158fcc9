package org.horovod4j.spi;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.horovod4j.DataType;
import org.horovod4j.Shape;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.stream.IntStream;

class FusedTensorsTest {
    private static final long[] ODD_SIZES = {0, 5, 1, 0, 0, 13, 2, 0};
    private static final int ELEMENTS = 21;

    /// Arrays of the given sizes that count up from 0, across all of them.
    private static List<int[]> counting(long... sizes) {
        List<int[]> arrays = new ArrayList<>();
        int next = 0;
        for (long size : sizes) {
            arrays.add(IntStream.range(next, next + (int) size).toArray());
            next += (int) size;
        }
        return arrays;
    }

    private static MemorySegment memory(int[] array) {
        return MemorySegment.ofArray(array);
    }

    private static FusedTensors over(
            List<int[]> inputs, List<int[]> outputs, FusedTensors fusedTensors) {
        for (int i = 0; i < inputs.size(); i++) {
            fusedTensors.set(i, memory(inputs.get(i)), memory(outputs.get(i)));
        }
        return fusedTensors;
    }

    @ParameterizedTest(name = "pieces of {0}")
    @ValueSource(ints = {1, 2, 3, 5, 7, 20, 21, 22})
    void piecesOfAnyLengthArePackedInOrder(int piece) {
        List<int[]> tensors = counting(ODD_SIZES);
        FusedTensors fusedTensors =
                over(tensors, tensors, new FusedTensors(DataType.INT32, ODD_SIZES));
        for (int first = 0; first < ELEMENTS; first += piece) {
            int count = Math.min(piece, ELEMENTS - first);
            int[] packed = new int[count + 2];
            fusedTensors.pack(first, count, memory(packed), 4);
            assertThat(packed[0]).isZero();
            assertThat(packed[count + 1]).isZero();
            assertThat(Arrays.copyOfRange(packed, 1, count + 1))
                    .isEqualTo(IntStream.range(first, first + count).toArray());
        }
    }

    @ParameterizedTest(name = "pieces of {0}")
    @ValueSource(ints = {1, 2, 3, 5, 7, 20, 21, 22})
    void piecesOfAnyLengthAreUnpacked(int piece) {
        List<int[]> outputs =
                Arrays.stream(ODD_SIZES).mapToObj(size -> new int[(int) size]).toList();
        FusedTensors fusedTensors =
                over(counting(ODD_SIZES), outputs, new FusedTensors(DataType.INT32, ODD_SIZES));
        for (int first = 0; first < ELEMENTS; first += piece) {
            int count = Math.min(piece, ELEMENTS - first);
            int[] packed = IntStream.range(first - 1, first + count).toArray();
            fusedTensors.unpack(memory(packed), 4, first, count);
        }
        assertThat(outputs).containsExactly(counting(ODD_SIZES).toArray(int[][]::new));
    }

    @ParameterizedTest(name = "pieces of {0}")
    @ValueSource(ints = {1, 2, 3, 4, 9, 10})
    void onlyWindowsAreUnpacked(int piece) {
        long[] sizes = {4, 0, 5, 1};
        long[] from = {1, 0, 0, 1};
        long[] to = {3, 0, 2, 1};
        List<int[]> outputs = List.of(new int[2], new int[0], new int[2], new int[0]);
        FusedTensors fusedTensors =
                over(counting(sizes), outputs, new FusedTensors(DataType.INT32, sizes, from, to));
        for (int first = 0; first < 10; first += piece) {
            int count = Math.min(piece, 10 - first);
            fusedTensors.unpack(
                    memory(IntStream.range(first, first + count).toArray()), 0, first, count);
        }
        assertThat(outputs)
                .containsExactly(new int[] {1, 2}, new int[0], new int[] {4, 5}, new int[0]);
        assertThat(fusedTensors.isInPlace()).isFalse();
    }

    @Test
    void copyFillsOutputsAndSkipsInPlaceTensors() {
        List<int[]> outputs = List.of(new int[2], new int[0], new int[1]);
        over(
                        counting(3, 0, 1),
                        outputs,
                        new FusedTensors(
                                DataType.INT32,
                                new long[] {3, 0, 1},
                                new long[] {1, 0, 0},
                                new long[] {3, 0, 1}))
                .copy();
        assertThat(outputs).containsExactly(new int[] {1, 2}, new int[0], new int[] {3});

        int[] same = {7, 8};
        int[] other = new int[1];
        FusedTensors fusedTensors = new FusedTensors(DataType.INT32, 2, 1);
        fusedTensors.set(0, memory(same), memory(same));
        fusedTensors.set(1, memory(new int[] {9}), memory(other));
        fusedTensors.copy();
        assertThat(same).containsExactly(7, 8);
        assertThat(other).containsExactly(9);
    }

    @Test
    void isInPlaceWhenEveryOutputIsItsWholeInput() {
        int[] first = {1, 2};
        int[] second = {3};
        FusedTensors fusedTensors = new FusedTensors(DataType.INT32, 2, 1);
        fusedTensors.set(0, memory(first), memory(first));
        fusedTensors.set(1, memory(second), memory(new int[1]));
        assertThat(fusedTensors.isInPlace()).isFalse();
        fusedTensors.set(1, memory(second), memory(second));
        assertThat(fusedTensors.isInPlace()).isTrue();
    }

    @ParameterizedTest(name = "{0} rows, rank {1} of {2}")
    @CsvSource({
        "7, 0, 3, 0, 3",
        "7, 1, 3, 3, 5",
        "7, 2, 3, 5, 7",
        "2, 2, 3, 2, 2",
        "0, 0, 3, 0, 0",
        "5, 0, 1, 0, 5"
    })
    void theFirstRanksGetOneRowMore(long rows, int rank, int size, long first, long end) {
        assertThat(FusedTensors.firstRow(rows, rank, size)).isEqualTo(first);
        assertThat(FusedTensors.firstRow(rows, rank + 1, size)).isEqualTo(end);
        FusedTensors fusedTensors =
                FusedTensors.forReducescatter(
                        DataType.INT32, List.of(Shape.of(rows, 2), Shape.of(1)), rank, size);
        int[] whole = IntStream.range(0, (int) rows * 2).toArray();
        int[] own = new int[(int) (end - first) * 2];
        fusedTensors.set(0, memory(whole), memory(own));
        fusedTensors.set(1, memory(new int[] {42}), memory(new int[rank == 0 ? 1 : 0]));
        fusedTensors.copy();
        assertThat(own).isEqualTo(Arrays.copyOfRange(whole, (int) first * 2, (int) end * 2));
    }

    @Test
    void wronglySizedMemoryIsRejected() {
        FusedTensors fusedTensors =
                new FusedTensors(DataType.INT32, new long[] {3}, new long[] {1}, new long[] {2});
        assertThatThrownBy(() -> fusedTensors.set(0, memory(new int[2]), memory(new int[1])))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("input of fused tensor 0")
                .hasMessageContaining("12 bytes")
                .hasMessageContaining("has 8");
        assertThatThrownBy(() -> fusedTensors.set(0, memory(new int[3]), memory(new int[3])))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("output of fused tensor 0");
    }

    @Test
    void sizesAreTotalsOverAllTensors() {
        FusedTensors fusedTensors = new FusedTensors(DataType.FLOAT64, ODD_SIZES);
        assertThat(fusedTensors.tensorCount()).isEqualTo(ODD_SIZES.length);
        assertThat(fusedTensors.elementCount()).isEqualTo(ELEMENTS);
        assertThat(fusedTensors.byteSize()).isEqualTo(8L * ELEMENTS);
        assertThat(fusedTensors.start(5)).isEqualTo(6);
        assertThat(fusedTensors.tensorAt(18)).isEqualTo(5);
        assertThat(fusedTensors.tensorAt(19)).isEqualTo(6);
    }
}
