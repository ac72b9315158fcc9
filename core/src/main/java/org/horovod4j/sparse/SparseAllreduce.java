package org.horovod4j.sparse;

import org.horovod4j.Communicator;
import org.horovod4j.DataType;
import org.horovod4j.Handle;
import org.horovod4j.ReduceOp;
import org.horovod4j.SparseResult;
import org.horovod4j.SparseTensor;
import org.horovod4j.Tensor;
import org.horovod4j.collectives.kernel.Kernels;
import org.horovod4j.spi.CompositeCall;

import java.util.List;

/// Sums sparse tensors over all ranks.
///
/// 1. Each rank adds its own rows with equal indices: a word that occurs a hundred times in a batch
///    is sent once.
/// 2. The ranks gather their numbers of rows.
/// 3. If these are few, the ranks gather indices and rows, and each rank adds rows with equal
/// indices, in the order of ranks. The number of gathered rows grows with the number of ranks. If
/// it exceeds the rows of the whole tensor, the ranks reduce the whole tensor instead.
///
/// | result | bytes received by each rank   |
/// |--------|-------------------------------|
/// | rows   | 96 per rank + all ranks' rows |
/// | dense  | 96 per rank + an allreduce    |
public final class SparseAllreduce {
    /// Reduces the whole tensor if all ranks together have more rows than it has.
    public static final SparseAllreduce DEFAULT = new SparseAllreduce(1.0);

    /// The largest length of an array of indices.
    private static final int MAX_ROWS = Integer.MAX_VALUE - 8;

    private final double denseThreshold;
    private final Kernels kernels = Kernels.best();
    private final RowCoalescer rowCoalescer = new RowCoalescer(kernels);

    /// @param denseThreshold how many rows all ranks together may contribute, as a multiple of the
    ///     rows of the whole tensor, before it is reduced as a whole; the same on every rank. 0 is
    ///     always dense, infinity never.
    public SparseAllreduce(double denseThreshold) {
        if (!(denseThreshold >= 0)) {
            throw new IllegalArgumentException(
                    "denseThreshold is a multiple of the rows of a tensor, 0 or more, not "
                            + denseThreshold);
        }
        this.denseThreshold = denseThreshold;
    }

    /// Sums or averages `tensor` over all ranks. Each rank may give different rows, or none.
    public Handle<SparseResult> allreduceAsync(
            Communicator communicator, String name, SparseTensor tensor, ReduceOp op) {
        checkReducible(name, tensor, op);
        long denseRows = tensor.denseShape().dimension(0);
        IndexedRows mine =
                rowCoalescer.coalesce(IndexedRows.of(tensor.indices(), tensor.values()), denseRows);
        SparseRequest sparseRequest = new SparseRequest(tensor.denseShape(), op, denseThreshold);
        Communicator parts = CompositeCall.mark(communicator, name, "sparseAllreduce");
        return parts.allgatherAsync(name + ".terms", sparseRequest.toTensor(mine.count()))
                .thenCompose(
                        gathered -> {
                            SparseRequest.GatheredTotals totals =
                                    sparseRequest.checkAgreement(name, gathered);
                            if (totals.rows() > denseThreshold * denseRows
                                    || totals.rows() > MAX_ROWS
                                    || isIntegerAverage(tensor, op)) {
                                return reduceDense(parts, name, tensor, mine, op);
                            }
                            return AverageDivisor.of(parts, name, op, totals.ranks())
                                    .thenCompose(
                                            divisor ->
                                                    gatherRows(parts, name, tensor, mine, divisor));
                        });
    }

    private static void checkReducible(String name, SparseTensor tensor, ReduceOp op) {
        if (op != ReduceOp.SUM && op != ReduceOp.AVERAGE) {
            throw new IllegalArgumentException(
                    """
                    sparse allreduce of '%s': the reduce op is SUM or AVERAGE, not %s
                    Rows that a rank does not have count as zero. For another op, use a dense tensor."""
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
        if (tensor.rowCount() > MAX_ROWS) {
            throw new IllegalArgumentException(
                    "sparse allreduce of '%s': %d rows are too many; make a dense tensor of them"
                            .formatted(name, tensor.rowCount()));
        }
    }

    /// Their sums need a wider type, which a dense allreduce has.
    private static boolean isIntegerAverage(SparseTensor tensor, ReduceOp op) {
        return op == ReduceOp.AVERAGE && !tensor.values().dataType().isFloatingPoint();
    }

    private static Handle<SparseResult> reduceDense(
            Communicator communicator,
            String name,
            SparseTensor like,
            IndexedRows mine,
            ReduceOp op) {
        Tensor whole = mine.toDense(like.denseShape());
        return communicator.allreduceAsync(name, whole, op).thenApply(SparseResult.Dense::new);
    }

    private Handle<SparseResult> gatherRows(
            Communicator communicator,
            String name,
            SparseTensor like,
            IndexedRows mine,
            int divisor) {
        long denseRows = like.denseShape().dimension(0);
        // Ranks may have indices of different types. All have the same shape: it decides what is
        // sent.
        DataType wire = denseRows <= Integer.MAX_VALUE ? DataType.INT32 : DataType.INT64;
        return communicator
                .groupedAllgatherAsync(name, List.of(mine.indices(wire), mine.values()))
                .thenApply(
                        gathered -> {
                            IndexedRows all =
                                    IndexedRows.of(gathered.getFirst(), gathered.getLast());
                            IndexedRows sums = rowCoalescer.coalesce(all, denseRows);
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
