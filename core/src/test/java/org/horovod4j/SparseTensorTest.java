package org.horovod4j;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class SparseTensorTest {
    private static final Shape DENSE = Shape.of(4, 2);
    private static final Tensor TWO_ROWS = Tensor.of(new float[4], 2, 2);

    private static void assertRefused(Tensor indices, Tensor values, Shape shape, String reason) {
        assertThatThrownBy(() -> new SparseTensor(indices, values, shape))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining(reason);
    }

    @Test
    void int32AndInt64IndicesAreRead() {
        SparseTensor ints = new SparseTensor(Tensor.of(new int[] {3, 0}), TWO_ROWS, DENSE);
        SparseTensor longs = new SparseTensor(Tensor.of(new long[] {3, 0}), TWO_ROWS, DENSE);
        assertThat(ints.rowCount()).isEqualTo(2);
        assertThat(ints.index(0)).isEqualTo(3);
        assertThat(longs.index(0)).isEqualTo(3);
        assertThat(longs.index(1)).isEqualTo(0);
    }

    @ParameterizedTest
    @ValueSource(ints = {-1, 4, Integer.MAX_VALUE})
    void indexOutOfRangeIsReported(int index) {
        assertRefused(
                Tensor.of(new int[] {0, index}),
                TWO_ROWS,
                DENSE,
                "index 1 of a sparse tensor is " + index);
    }

    @Test
    void indicesMustBeOneDimensionalIntegers() {
        assertRefused(Tensor.of(new float[2]), TWO_ROWS, DENSE, "not float32");
        assertRefused(Tensor.of(new short[2]), TWO_ROWS, DENSE, "not int16");
        assertRefused(Tensor.of(new int[2], 2, 1), TWO_ROWS, DENSE, "[2, 1]");
    }

    @Test
    void valuesMustHaveOneRowPerIndex() {
        assertRefused(Tensor.of(new int[3]), TWO_ROWS, DENSE, "[3, 2], not [2, 2]");
        assertRefused(Tensor.of(new int[4]), Tensor.of(new float[4]), DENSE, "[4, 2], not [4]");
        assertRefused(Tensor.of(new int[2]), TWO_ROWS, Shape.of(4, 3), "[2, 3], not [2, 2]");
        assertRefused(Tensor.of(new int[2]), TWO_ROWS, Shape.SCALAR, "scalar");
    }

    @Test
    void resultRowsMustBeUnique() {
        SparseTensor twice = new SparseTensor(Tensor.of(new int[] {3, 3}), TWO_ROWS, DENSE);
        assertThatThrownBy(() -> new SparseResult.Rows(twice))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("row 3 follows row 3");
    }

    @Test
    void sparseAndDenseResultsAreEqualAsDense() {
        SparseTensor rows =
                new SparseTensor(
                        Tensor.of(new int[] {1, 3}),
                        Tensor.of(new float[] {1, 2, 3, 4}, 2, 2),
                        DENSE);
        Tensor dense = new SparseResult.Rows(rows).toDense();
        assertThat(dense.shape()).isEqualTo(DENSE);
        assertThat(dense.toFloatArray()).containsExactly(0, 0, 1, 2, 0, 0, 3, 4);
        assertThat(new SparseResult.Dense(dense).toDense()).isSameAs(dense);
    }
}
