package org.horovod4j.collectives;

import org.horovod4j.collectives.algorithm.Allreduce;
import org.horovod4j.collectives.algorithm.DoublingAllreduce;
import org.horovod4j.collectives.algorithm.HalvingDoublingAllreduce;
import org.horovod4j.collectives.algorithm.RingAllreduce;
import org.horovod4j.collectives.algorithm.TreeAllreduce;
import org.horovod4j.option.AllreduceChoice;

/// Picks the cheapest allreduce between hosts, or the one that was asked for.
///
/// Measured costs choose between doubling and halving-doubling alone, which give the same bits. A
/// ring adds in another order: whether it is taken depends on sizes and usual costs, or a run could
/// not be repeated. For the same reason whoever tunes where rings begin does so on all ranks
/// together.
public final class AllreduceSelector {
    private final CostModel costs;
    private final AllreduceChoice choice;

    /// From how many bytes on a ring is taken; 0 leaves that to the usual costs.
    private volatile long ringBytes;

    public AllreduceSelector(CostModel costs, AllreduceChoice choice) {
        this.costs = costs;
        this.choice = choice;
    }

    Allreduce algorithm(int size, long bytes) {
        return switch (choice) {
            case AUTO -> cheapest(size, bytes);
            case RING -> new RingAllreduce();
            case HALVING_DOUBLING -> new HalvingDoublingAllreduce();
            case TREE -> new TreeAllreduce();
            case DOUBLING -> new DoublingAllreduce();
        };
    }

    /// Lets rings begin at `bytes`; 0 leaves that to the usual costs.
    void ringBytes(long bytes) {
        ringBytes = bytes;
    }

    /// The most bytes for which the order of additions does not depend on where an element lies: no
    /// ring is taken up to here, or there are but two ranks, for which all orders are the same.
    long maxBytesWithoutRing(int size) {
        if (size <= 2) {
            return Long.MAX_VALUE;
        }
        return switch (choice) {
            case AUTO -> ringBytes > 0 ? ringBytes - 1 : maxBytesBeforeRingIsCheaper(size);
            case RING -> 0;
            case HALVING_DOUBLING, TREE, DOUBLING -> Long.MAX_VALUE;
        };
    }

    /// Searches the place from where on a ring is cheaper: it costs more steps and fewer bytes, so
    /// there is one such place.
    private static long maxBytesBeforeRingIsCheaper(int size) {
        long without = 0;
        long with = 1L << 40;
        while (with - without > 1) {
            long middle = without + (with - without) / 2;
            if (isRingCheaper(size, middle)) {
                with = middle;
            } else {
                without = middle;
            }
        }
        return without;
    }

    private static boolean isRingCheaper(int size, long bytes) {
        CostModel usual = CostModel.DEFAULT;
        double ring = usual.ring(size, bytes);
        return ring < usual.halvingDoubling(size, bytes) && ring < usual.doubling(size, bytes);
    }

    private Allreduce cheapest(int size, long bytes) {
        long begin = ringBytes;
        if (begin > 0 ? bytes >= begin : isRingCheaper(size, bytes)) {
            return new RingAllreduce();
        }
        return costs.halvingDoubling(size, bytes) < costs.doubling(size, bytes)
                ? new HalvingDoublingAllreduce()
                : new DoublingAllreduce();
    }
}
