package org.horovod4j.collectives.algorithm;

import org.horovod4j.collectives.kernel.AdasumKernel;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/// Which elements of several tensors each rank calculates: nearly equal shares, cut between the
/// blocks of [AdasumKernel] alone.
///
/// Shares follow each other, so at most two tensors of a share are *cut*, that is, lie in others as
/// well: the one that began before, and the one that goes on behind. Only these need anything from
/// other ranks.
public final class AdasumPartition {
    private final long[] tensorStarts;
    private final long[] shareStarts;

    /// @param tensorStarts where each tensor begins among all elements; the last entry is their
    ///     number
    /// @param shares how many shares to make
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

    /// How many shares there are.
    public int count() {
        return shareStarts.length - 1;
    }

    /// The first element of a share.
    public long start(int share) {
        return shareStarts[share];
    }

    /// How many elements a share has.
    public long size(int share) {
        return shareStarts[share + 1] - shareStarts[share];
    }

    /// The tensors of a share, or what it has of them, in order.
    public List<Piece> pieces(int share) {
        List<Piece> pieces = new ArrayList<>();
        for (int tensor = 0; tensor < tensors(); tensor++) {
            long start = Math.max(tensorStarts[tensor], shareStarts[share]);
            long end = Math.min(tensorStarts[tensor + 1], shareStarts[share + 1]);
            if (start < end) {
                boolean cut = end - start < tensorStarts[tensor + 1] - tensorStarts[tensor];
                pieces.add(new Piece(tensor, start - shareStarts[share], end - start, cut));
            }
        }
        return pieces;
    }

    /// Whether any tensor lies in several shares.
    public boolean hasSplitTensors() {
        for (int share = 1; share < count(); share++) {
            if (Arrays.binarySearch(tensorStarts, shareStarts[share]) < 0) {
                return true; // it begins inside a tensor
            }
        }
        return false;
    }

    /// Whether a share has something of a tensor.
    boolean contains(int share, int tensor) {
        return shareStarts[share] < shareStarts[share + 1]
                && tensorStarts[tensor] < shareStarts[share + 1]
                && tensorStarts[tensor + 1] > shareStarts[share];
    }

    /// Which of the two cut tensors of a share this one is: 0 if it began before, 1 if it begins
    /// here.
    int side(int share, int tensor) {
        return tensorStarts[tensor] < shareStarts[share] ? 0 : 1;
    }

    /// What a share has of a tensor.
    ///
    /// @param tensor which one
    /// @param start its first element, counted from the share's first
    /// @param count its elements
    /// @param split whether other shares have more of the tensor
    public record Piece(int tensor, long start, long count, boolean split) {}
}
