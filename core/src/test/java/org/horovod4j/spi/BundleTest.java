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

class BundleTest {
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

    private static Bundle over(List<int[]> inputs, List<int[]> outputs, Bundle bundle) {
        for (int i = 0; i < inputs.size(); i++) {
            bundle.set(i, memory(inputs.get(i)), memory(outputs.get(i)));
        }
        return bundle;
    }

    @ParameterizedTest(name = "pieces of {0}")
    @ValueSource(ints = {1, 2, 3, 5, 7, 20, 21, 22})
    void piecesOfAnyLengthArePackedInOrder(int piece) {
        List<int[]> tensors = counting(ODD_SIZES);
        Bundle bundle = over(tensors, tensors, new Bundle(DataType.INT32, ODD_SIZES));
        for (int first = 0; first < ELEMENTS; first += piece) {
            int count = Math.min(piece, ELEMENTS - first);
            int[] packed = new int[count + 2];
            bundle.pack(first, count, memory(packed), 4);
            assertThat(packed[0]).isZero();
            assertThat(packed[count + 1]).isZero();
            assertThat(Arrays.copyOfRange(packed, 1, count + 1))
                    .isEqualTo(IntStream.range(first, first + count).toArray());
        }
    }

    @ParameterizedTest(name = "pieces of {0}")
    @ValueSource(ints = {1, 2, 3, 5, 7, 20, 21, 22})
    void piecesOfAnyLengthAreUnpackedWhereTheyBelong(int piece) {
        List<int[]> outputs =
                Arrays.stream(ODD_SIZES).mapToObj(size -> new int[(int) size]).toList();
        Bundle bundle = over(counting(ODD_SIZES), outputs, new Bundle(DataType.INT32, ODD_SIZES));
        for (int first = 0; first < ELEMENTS; first += piece) {
            int count = Math.min(piece, ELEMENTS - first);
            int[] packed = IntStream.range(first - 1, first + count).toArray();
            bundle.unpack(memory(packed), 4, first, count);
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
        Bundle bundle = over(counting(sizes), outputs, new Bundle(DataType.INT32, sizes, from, to));
        for (int first = 0; first < 10; first += piece) {
            int count = Math.min(piece, 10 - first);
            bundle.unpack(memory(IntStream.range(first, first + count).toArray()), 0, first, count);
        }
        assertThat(outputs)
                .containsExactly(new int[] {1, 2}, new int[0], new int[] {4, 5}, new int[0]);
        assertThat(bundle.isInPlace()).isFalse();
    }

    @Test
    void copyGivesWhatIsWantedAndLeavesTensorsInPlaceAlone() {
        List<int[]> outputs = List.of(new int[2], new int[0], new int[1]);
        over(
                        counting(3, 0, 1),
                        outputs,
                        new Bundle(
                                DataType.INT32,
                                new long[] {3, 0, 1},
                                new long[] {1, 0, 0},
                                new long[] {3, 0, 1}))
                .copy();
        assertThat(outputs).containsExactly(new int[] {1, 2}, new int[0], new int[] {3});

        int[] same = {7, 8};
        int[] other = new int[1];
        Bundle bundle = new Bundle(DataType.INT32, 2, 1);
        bundle.set(0, memory(same), memory(same));
        bundle.set(1, memory(new int[] {9}), memory(other));
        bundle.copy();
        assertThat(same).containsExactly(7, 8);
        assertThat(other).containsExactly(9);
    }

    @Test
    void aBundleIsInPlaceWhenEachTensorIsWantedWholeAndWhereItCameFrom() {
        int[] first = {1, 2};
        int[] second = {3};
        Bundle bundle = new Bundle(DataType.INT32, 2, 1);
        bundle.set(0, memory(first), memory(first));
        bundle.set(1, memory(second), memory(new int[1]));
        assertThat(bundle.isInPlace()).isFalse();
        bundle.set(1, memory(second), memory(second));
        assertThat(bundle.isInPlace()).isTrue();
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
        assertThat(Bundle.firstRow(rows, rank, size)).isEqualTo(first);
        assertThat(Bundle.firstRow(rows, rank + 1, size)).isEqualTo(end);
        Bundle bundle =
                Bundle.scattered(
                        DataType.INT32, List.of(Shape.of(rows, 2), Shape.of(1)), rank, size);
        int[] whole = IntStream.range(0, (int) rows * 2).toArray();
        int[] own = new int[(int) (end - first) * 2];
        bundle.set(0, memory(whole), memory(own));
        bundle.set(1, memory(new int[] {42}), memory(new int[rank == 0 ? 1 : 0]));
        bundle.copy();
        assertThat(own).isEqualTo(Arrays.copyOfRange(whole, (int) first * 2, (int) end * 2));
    }

    @Test
    void memoryOfAnotherSizeIsRefused() {
        Bundle bundle = new Bundle(DataType.INT32, new long[] {3}, new long[] {1}, new long[] {2});
        assertThatThrownBy(() -> bundle.set(0, memory(new int[2]), memory(new int[1])))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("input of tensor 0")
                .hasMessageContaining("12 bytes")
                .hasMessageContaining("has 8");
        assertThatThrownBy(() -> bundle.set(0, memory(new int[3]), memory(new int[3])))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("output of tensor 0");
    }

    @Test
    void sizesAreThoseOfAllTensorsTogether() {
        Bundle bundle = new Bundle(DataType.FLOAT64, ODD_SIZES);
        assertThat(bundle.tensorCount()).isEqualTo(ODD_SIZES.length);
        assertThat(bundle.elementCount()).isEqualTo(ELEMENTS);
        assertThat(bundle.byteSize()).isEqualTo(8L * ELEMENTS);
        assertThat(bundle.start(5)).isEqualTo(6);
        assertThat(bundle.tensorAt(18)).isEqualTo(5);
        assertThat(bundle.tensorAt(19)).isEqualTo(6);
    }
}
