package org.horovod4j.collectives;

import org.horovod4j.collectives.algorithm.Allreduce;
import org.horovod4j.collectives.algorithm.DoublingAllreduce;
import org.horovod4j.collectives.algorithm.HalvingDoublingAllreduce;
import org.horovod4j.collectives.algorithm.RingAllreduce;
import org.horovod4j.collectives.algorithm.TreeAllreduce;
import org.horovod4j.option.AllreduceChoice;

/// Picks the cheapest allreduce between hosts, or the one that was asked for.
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
        Allreduce best = new DoublingAllreduce();
        double least = costs.doubling(size, bytes);
        if (costs.halvingDoubling(size, bytes) < least) {
            best = new HalvingDoublingAllreduce();
            least = costs.halvingDoubling(size, bytes);
        }
        if (costs.ring(size, bytes) < least) {
            best = new RingAllreduce();
            least = costs.ring(size, bytes);
        }
        return costs.tree(size, bytes) < least ? new TreeAllreduce() : best;
    }
}
