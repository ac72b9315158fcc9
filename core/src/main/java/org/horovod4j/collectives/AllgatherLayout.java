package org.horovod4j.collectives;

import org.horovod4j.DataType;
import org.horovod4j.Tensor;
import org.horovod4j.spi.FusedTensors;

import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/// Where the rows of each rank go in the output tensors of an allgather.
///
/// The *block* of a rank is its rows of all tensors, one tensor after the other. With a single
/// tensor, the blocks in rank order are the output itself.
final class AllgatherLayout {
    private final List<Tensor> outputs = new ArrayList<>();
    private final FusedTensors[] rankBlocks;
    private final long[] starts;
    private final long[] sizes;

    /// @param tensors the tensors of this rank
    /// @param rows the row counts of all ranks, by rank and then by tensor
    AllgatherLayout(List<Tensor> tensors, int rank, long[] rows) {
        int count = tensors.size();
        int ranks = rows.length / count;
        long[][] byteSizes = new long[ranks][count];
        for (int i = 0; i < count; i++) {
            Tensor tensor = tensors.get(i);
            long rowBytes = tensor.shape().rowElements() * tensor.dataType().byteSize();
            long sum = 0;
            for (int each = 0; each < ranks; each++) {
                byteSizes[each][i] = rows[each * count + i] * rowBytes;
                sum += rows[each * count + i];
            }
            outputs.add(Tensor.zeros(tensor.dataType(), tensor.shape().withRows(sum)));
        }
        this.rankBlocks = new FusedTensors[ranks];
        this.starts = new long[ranks];
        this.sizes = new long[ranks];
        Arrays.setAll(rankBlocks, each -> new FusedTensors(DataType.UINT8, byteSizes[each]));
        for (int each = 0; each < ranks; each++) {
            sizes[each] = rankBlocks[each].byteSize();
            starts[each] = each == 0 ? 0 : starts[each - 1] + sizes[each - 1];
        }
        for (int i = 0; i < count; i++) {
            long at = 0;
            for (int each = 0; each < ranks; each++) {
                long byteSize = byteSizes[each][i];
                MemorySegment output = outputs.get(i).segment().asSlice(at, byteSize);
                rankBlocks[each].set(i, each == rank ? tensors.get(i).segment() : output, output);
                at += byteSize;
            }
        }
    }

    List<Tensor> outputs() {
        return List.copyOf(outputs);
    }

    /// The block of a rank as bytes. This rank's block is packed from its tensors; all blocks are
    /// unpacked into the outputs.
    FusedTensors rankBlock(int rank) {
        return rankBlocks[rank];
    }

    /// The offset of each rank's block when all blocks lie one after the other.
    long[] starts() {
        return starts;
    }

    /// The size of each rank's block in bytes.
    long[] sizes() {
        return sizes;
    }

    /// The size of all blocks in bytes.
    long byteSize() {
        return Arrays.stream(sizes).sum();
    }
}
