package org.horovod4j.collectives;

import org.horovod4j.collectives.algorithm.Allreduce;
import org.horovod4j.collectives.algorithm.DoublingAllreduce;
import org.horovod4j.collectives.algorithm.HalvingDoublingAllreduce;
import org.horovod4j.collectives.algorithm.RingAllreduce;
import org.horovod4j.collectives.algorithm.TreeAllreduce;
import org.horovod4j.option.AllreduceChoice;

/// Selects the cheapest allreduce algorithm between hosts, or the one that was configured.
///
/// Measured costs decide only between doubling and halving-doubling, which give the same bits. A
/// ring adds in a different order. So the decision for a ring depends only on sizes and default
/// costs; otherwise runs would not be reproducible. For the same reason all ranks must set the same
/// `ringBytes` at the same time.
public final class AllreduceSelector {
    private static final long MAX_DESCRIBED_BYTES = 1L << 30;

    private final CostModel costs;
    private final AllreduceChoice choice;

    /// The smallest size for which a ring is used; 0 decides by the default costs.
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

    /// The algorithms by size, for the log: "DoublingAllreduce up to 4096 bytes, RingAllreduce
    /// above".
    String describe(int size) {
        StringBuilder text = new StringBuilder();
        String last = name(size, 1);
        for (long bytes = 2; bytes <= MAX_DESCRIBED_BYTES; bytes *= 2) {
            String next = name(size, bytes);
            if (!next.equals(last)) {
                text.append("%s up to %d bytes, ".formatted(last, bytes / 2));
                last = next;
            }
        }
        return text.append(last).append(text.isEmpty() ? "" : " above").toString();
    }

    private String name(int size, long bytes) {
        return algorithm(size, bytes).getClass().getSimpleName();
    }

    /// Uses rings from `bytes` on; 0 decides by the default costs.
    void ringBytes(long bytes) {
        ringBytes = bytes;
    }

    /// The largest size for which the order of additions does not depend on the position of an
    /// element: no ring is used up to this size, or there are only two ranks, for which every order
    /// gives the same result.
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

    /// Finds the size from which a ring is cheaper by binary search. There is exactly one, because
    /// a ring has more steps and costs less for each byte.
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
        CostModel costs = CostModel.DEFAULT;
        double ring = costs.ring(size, bytes);
        return ring < costs.halvingDoubling(size, bytes) && ring < costs.doubling(size, bytes);
    }

    private Allreduce cheapest(int size, long bytes) {
        long minRingBytes = ringBytes;
        if (minRingBytes > 0 ? bytes >= minRingBytes : isRingCheaper(size, bytes)) {
            return new RingAllreduce();
        }
        return costs.halvingDoubling(size, bytes) < costs.doubling(size, bytes)
                ? new HalvingDoublingAllreduce()
                : new DoublingAllreduce();
    }
}
