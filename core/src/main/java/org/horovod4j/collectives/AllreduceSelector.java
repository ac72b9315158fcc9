package org.horovod4j.collectives;

import org.horovod4j.collectives.algorithm.Allreduce;
import org.horovod4j.collectives.algorithm.DoublingAllreduce;
import org.horovod4j.collectives.algorithm.HalvingDoublingAllreduce;
import org.horovod4j.collectives.algorithm.RingAllreduce;
import org.horovod4j.collectives.algorithm.TreeAllreduce;
import org.horovod4j.option.AllreduceChoice;

/// Picks the cheapest allreduce between hosts, or the one that was asked for.
///
/// Measured costs choose between doubling and halving-doubling alone, which give the same bits. A ring
/// adds in another order: whether it is taken depends on sizes and usual costs, or a run could not be
/// repeated.
public final class AllreduceSelector {
    private final CostModel costs;
    private final AllreduceChoice wanted;

    public AllreduceSelector(CostModel costs, AllreduceChoice wanted) {
        this.costs = costs;
        this.wanted = wanted;
    }

    Allreduce algorithm(int size, long bytes) {
        return switch (wanted) {
            case AUTO -> cheapest(size, bytes);
            case RING -> new RingAllreduce();
            case HALVING_DOUBLING -> new HalvingDoublingAllreduce();
            case TREE -> new TreeAllreduce();
            case DOUBLING -> new DoublingAllreduce();
        };
    }

    private Allreduce cheapest(int size, long bytes) {
        CostModel usual = CostModel.DEFAULT;
        double ring = usual.ring(size, bytes);
        if (ring < usual.halvingDoubling(size, bytes) && ring < usual.doubling(size, bytes)) {
            return new RingAllreduce();
        }
        return costs.halvingDoubling(size, bytes) < costs.doubling(size, bytes)
                ? new HalvingDoublingAllreduce()
                : new DoublingAllreduce();
    }
}
