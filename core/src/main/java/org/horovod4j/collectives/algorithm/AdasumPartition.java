package org.horovod4j.collectives.algorithm;

import org.horovod4j.collectives.kernel.AdasumKernel;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/// Divides the elements of several tensors into nearly equal shares, one per rank. Cuts lie only
/// between blocks of [AdasumKernel].
///
/// Shares are contiguous, so a share contains pieces of at most two *split* tensors, which continue
/// in other shares: one at its start and one at its end. Only these need data from other ranks.
public final class AdasumPartition {
    private final long[] tensorStarts;
    private final long[] shareStarts;

    /// @param tensorStarts the first element of each tensor; the last entry is the total element
    ///     count
    /// @param shares the number of shares
    public AdasumPartition(long[] tensorStarts, int shares) {
        this.tensorStarts = tensorStarts.clone();
        this.shareStarts = new long[shares + 1];
        long blocks = 0;
        for (int tensor = 0; tensor < tensors(); tensor++) {
            blocks += blocks(tensor);
        }
        int tensor = 0;
        long before = 0; // blocks of the tensors before this one
        for (int share = 0; share <= shares; share++) {
            long block = Partition.start(blocks, share, shares);
            while (tensor < tensors() && before + blocks(tensor) <= block) {
                before += blocks(tensor);
                tensor++;
            }
            shareStarts[share] = tensorStarts[tensor] + (block - before) * AdasumKernel.BLOCK;
        }
    }

    private int tensors() {
        return tensorStarts.length - 1;
    }

    private long blocks(int tensor) {
        return Math.ceilDiv(tensorStarts[tensor + 1] - tensorStarts[tensor], AdasumKernel.BLOCK);
    }

    /// The number of shares.
    public int count() {
        return shareStarts.length - 1;
    }

    /// The first element of a share.
    public long start(int share) {
        return shareStarts[share];
    }

    /// The number of elements in a share.
    public long size(int share) {
        return shareStarts[share + 1] - shareStarts[share];
    }

    /// The pieces of tensors in a share, in order.
    public List<Piece> pieces(int share) {
        List<Piece> pieces = new ArrayList<>();
        for (int tensor = 0; tensor < tensors(); tensor++) {
            long start = Math.max(tensorStarts[tensor], shareStarts[share]);
            long end = Math.min(tensorStarts[tensor + 1], shareStarts[share + 1]);
            if (start < end) {
                boolean split = end - start < tensorStarts[tensor + 1] - tensorStarts[tensor];
                pieces.add(new Piece(tensor, start - shareStarts[share], end - start, split));
            }
        }
        return pieces;
    }

    /// Whether any tensor lies in several shares.
    public boolean hasSplitTensors() {
        for (int share = 1; share < count(); share++) {
            if (Arrays.binarySearch(tensorStarts, shareStarts[share]) < 0) {
                return true; // it starts within a tensor
            }
        }
        return false;
    }

    /// Whether a share contains elements of a tensor.
    boolean contains(int share, int tensor) {
        return shareStarts[share] < shareStarts[share + 1]
                && tensorStarts[tensor] < shareStarts[share + 1]
                && tensorStarts[tensor + 1] > shareStarts[share];
    }

    /// Which of the two split tensors of a share this is: 0 if it started in an earlier share, 1 if
    /// it starts in this one.
    int side(int share, int tensor) {
        return tensorStarts[tensor] < shareStarts[share] ? 0 : 1;
    }

    /// The part of a tensor that lies in a share.
    ///
    /// @param tensor the index of the tensor
    /// @param start its first element, relative to the start of the share
    /// @param count the number of its elements
    /// @param split whether other shares contain the rest of the tensor
    public record Piece(int tensor, long start, long count, boolean split) {}
}
