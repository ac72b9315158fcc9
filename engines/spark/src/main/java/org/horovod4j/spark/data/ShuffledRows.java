package org.horovod4j.spark.data;

import java.util.Arrays;

/// Rows of several blocks, in the order in which they are used.
final class ShuffledRows {
    private final RowBlock[] blocks;
    private final int[] order;
    private final int[] starts;

    /// @param order numbers of rows; the rows of all blocks are counted from 0, block after block
    ShuffledRows(RowBlock[] blocks, int[] order) {
        this.blocks = blocks;
        this.order = order;
        this.starts = new int[blocks.length];
        for (int i = 1; i < blocks.length; i++) {
            starts[i] = starts[i - 1] + blocks[i - 1].rows();
        }
    }

    int rows() {
        return order.length;
    }

    /// Copies the rows number `from` to `from + count - 1` of the order.
    ///
    /// @param to the arrays of all columns
    /// @param row the first one there
    void copy(int from, int count, Object[] to, int row) {
        int[] block = new int[count];
        int[] index = new int[count];
        for (int i = 0; i < count; i++) {
            block[i] = block(order[from + i]);
            index[i] = order[from + i] - starts[block[i]];
        }
        for (int column = 0; column < to.length; column++) {
            int length = blocks[0].columns().get(column).length();
            for (int i = 0; i < count; i++) {
                Object source = blocks[block[i]].arrays()[column];
                // The general copy checks the types of both arrays: too slow for one element.
                if (length == 1) {
                    ColumnArrays.copy(source, index[i], to[column], row + i);
                } else {
                    System.arraycopy(
                            source, index[i] * length, to[column], (row + i) * length, length);
                }
            }
        }
    }

    private int block(int row) {
        int block = Arrays.binarySearch(starts, row);
        return block >= 0 ? block : -block - 2;
    }
}
