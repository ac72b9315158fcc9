package org.horovod4j.sparse;

import org.horovod4j.Communicator;
import org.horovod4j.DataType;
import org.horovod4j.Handle;
import org.horovod4j.ReduceOp;
import org.horovod4j.Sequel;
import org.horovod4j.SparseResult;
import org.horovod4j.SparseTensor;
import org.horovod4j.Tensor;
import org.horovod4j.collectives.kernel.Kernels;

import java.util.List;

/// Sums sparse tensors over all ranks.
///
/// 1. Each rank adds its own rows with equal indices: a word that a batch has a hundred times
///    travels once.
/// 2. The ranks gather how many rows each is left with.
/// 3. While these are few, they gather indices and rows, and each rank adds those with equal
///    indices, in rank order. Gathered rows grow with the number of ranks, though, and the whole
///    tensor does not: when there would be more rows than it has, the ranks reduce it instead.
///
/// | result | bytes received by each rank   |
/// |--------|-------------------------------|
/// | rows   | 32 per rank + all ranks' rows |
/// | dense  | 32 per rank + an allreduce    |
public final class SparseAllreduce {
    /// Turns dense when the rows of all ranks outnumber those of the whole tensor.
    public static final SparseAllreduce DEFAULT = new SparseAllreduce(1.0);

    /// The most rows that an array of indices has room for.
    private static final int MOST_ROWS = Integer.MAX_VALUE - 8;

    private final double denseAbove;
    private final Kernels kernels = Kernels.best();
    private final RowSum rowSum = new RowSum(kernels);

    /// @param denseAbove how many rows all ranks together may bring, as a multiple of the rows of
    ///     the whole tensor, before it is reduced as a whole; the same on every rank. 0 is always
    ///     dense, infinity never.
    public SparseAllreduce(double denseAbove) {
        if (!(denseAbove >= 0)) {
            throw new IllegalArgumentException(
                    "a sparse tensor turns dense above a multiple of its rows, not " + denseAbove);
        }
        this.denseAbove = denseAbove;
    }

    /// Sums or averages `tensor` over all ranks, which may bring different rows, or none.
    public Handle<SparseResult> allreduceAsync(
            Communicator communicator, String name, SparseTensor tensor, ReduceOp op) {
        checkReducible(name, tensor, op);
        long denseRows = tensor.denseShape().dimension(0);
        Rows mine = rowSum.unique(Rows.of(tensor.indices(), tensor.values()), denseRows);
        Terms terms = new Terms(tensor.denseShape(), op, denseAbove);
        return Sequel.chain(
                communicator.allgatherAsync(name + ".terms", terms.with(mine.count())),
                gathered -> {
                    Terms.Agreed agreed = terms.agree(name, gathered);
                    if (agreed.rows() > denseAbove * denseRows || agreed.rows() > MOST_ROWS) {
                        return reduceWhole(communicator, name, tensor, mine, op);
                    }
                    return Sequel.chain(
                            Divisor.of(communicator, name, op, agreed.ranks()),
                            divisor -> gatherRows(communicator, name, tensor, mine, divisor));
                });
    }

    private static void checkReducible(String name, SparseTensor tensor, ReduceOp op) {
        if (op != ReduceOp.SUM && op != ReduceOp.AVERAGE) {
            throw new IllegalArgumentException(
                    """
                    sparse allreduce of '%s': the reduce op is SUM or AVERAGE, not %s
                    Rows that a rank lacks count as zero there: make a dense tensor to reduce it otherwise."""
                            .formatted(name, op));
        }
        if (tensor.values().dataType() == DataType.BOOL && op == ReduceOp.AVERAGE) {
            throw new IllegalArgumentException(
                    "sparse allreduce of '%s': bool has no average; convert it to a number type"
                            .formatted(name));
        }
        if (!tensor.values().segment().isAccessibleBy(Thread.ofVirtual().unstarted(() -> {}))) {
            throw new IllegalArgumentException(
                    """
                    sparse allreduce of '%s': its values lie in a confined arena, but other threads send them
                    Allocate them in a shared or automatic arena."""
                            .formatted(name));
        }
        if (tensor.rowCount() > MOST_ROWS) {
            throw new IllegalArgumentException(
                    "sparse allreduce of '%s': %d rows are too many; make a dense tensor of them"
                            .formatted(name, tensor.rowCount()));
        }
    }

    private static Handle<SparseResult> reduceWhole(
            Communicator communicator, String name, SparseTensor like, Rows mine, ReduceOp op) {
        Tensor whole = mine.spread(like.denseShape());
        return Sequel.of(communicator.allreduceAsync(name, whole, op), SparseResult.Dense::new);
    }

    private Handle<SparseResult> gatherRows(
            Communicator communicator, String name, SparseTensor like, Rows mine, int divisor) {
        long denseRows = like.denseShape().dimension(0);
        // ranks may hold indices of different types: the shape, which they share, says what travels
        DataType wire = denseRows <= Integer.MAX_VALUE ? DataType.INT32 : DataType.INT64;
        return Sequel.of(
                communicator.groupedAllgatherAsync(
                        name, List.of(mine.indices(wire), mine.values())),
                gathered -> {
                    Rows all = Rows.of(gathered.getFirst(), gathered.getLast());
                    Rows sums = rowSum.unique(all, denseRows);
                    Tensor values = sums.values();
                    if (divisor > 1) {
                        kernels.divide(
                                values.dataType(),
                                values.segment(),
                                0,
                                values.elementCount(),
                                divisor);
                    }
                    Tensor unique = sums.indices(like.indices().dataType());
                    return new SparseResult.Rows(
                            new SparseTensor(unique, values, like.denseShape()));
                });
    }
}
