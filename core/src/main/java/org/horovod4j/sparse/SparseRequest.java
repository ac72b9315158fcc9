package org.horovod4j.sparse;

import org.horovod4j.MismatchException;
import org.horovod4j.ReduceOp;
import org.horovod4j.Shape;
import org.horovod4j.Tensor;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;

/// What all ranks must agree on when they gather parts of a tensor to sum them.
///
/// An allgather does not check that: it would combine rows of different tensors, or rows that
/// one rank sums and another averages. So the ranks gather these requests too, and each
/// compares them: either all ranks continue, or all fail with the same message.
///
/// @param shape of the whole tensor
/// @param denseThreshold see [SparseAllreduce#SparseAllreduce(double)]
public record SparseRequest(Shape shape, ReduceOp op, double denseThreshold) {
    private static final int ROWS = 0;
    private static final int OP = 1;
    private static final int DENSE_THRESHOLD = 2;
    private static final int RANK = 3;
    private static final int DIMENSIONS = 4;

    /// So many dimensions have room in every row. With more, ranks whose shapes have different
    /// numbers of them fail with a mismatch of the gathered rows.
    private static final int MIN_ROOM = 8;

    /// This request and the number of rows of this rank, as one row to gather.
    public Tensor toTensor(long rows) {
        long[] header = new long[rowLength()];
        header[ROWS] = rows;
        header[OP] = op.ordinal();
        header[DENSE_THRESHOLD] = Double.doubleToLongBits(denseThreshold);
        header[RANK] = shape.rank();
        System.arraycopy(shape.toArray(), 0, header, DIMENSIONS, shape.rank());
        return Tensor.of(header, 1, header.length);
    }

    /// Checks that every rank has the same request.
    ///
    /// @param gathered the results of [#toTensor] of all ranks
    /// @throws MismatchException on every rank, if the requests differ
    public GatheredTotals checkAgreement(String name, Tensor gathered) {
        long[] headers = gathered.toLongArray();
        int length = rowLength();
        Map<SparseRequest, List<Integer>> holders = new LinkedHashMap<>();
        long rows = 0;
        int ranks = headers.length / length;
        for (int rank = 0; rank < ranks; rank++) {
            rows += headers[rank * length + ROWS];
            SparseRequest sparseRequest = read(headers, rank * length);
            holders.computeIfAbsent(sparseRequest, _ -> new ArrayList<>()).add(rank);
        }
        if (holders.size() > 1) {
            throw new MismatchException(disagreement(name, holders));
        }
        return new GatheredTotals(rows, ranks);
    }

    /// The rows of each rank that has data, in their order.
    ///
    /// @param gathered as in [#checkAgreement], which has succeeded
    public long[] rowsByRank(Tensor gathered) {
        long[] headers = gathered.toLongArray();
        long[] rows = new long[headers.length / rowLength()];
        for (int rank = 0; rank < rows.length; rank++) {
            rows[rank] = headers[rank * rowLength() + ROWS];
        }
        return rows;
    }

    /// What all ranks know after they have gathered their requests.
    ///
    /// @param rows of all ranks together
    /// @param ranks how many have data: all except those that have joined
    public record GatheredTotals(long rows, int ranks) {}

    private int rowLength() {
        return DIMENSIONS + Math.max(shape.rank(), MIN_ROOM);
    }

    private static SparseRequest read(long[] headers, int at) {
        long[] dimensions = new long[(int) headers[at + RANK]];
        System.arraycopy(headers, at + DIMENSIONS, dimensions, 0, dimensions.length);
        return new SparseRequest(
                Shape.of(dimensions),
                ReduceOp.values()[(int) headers[at + OP]],
                Double.longBitsToDouble(headers[at + DENSE_THRESHOLD]));
    }

    private static String disagreement(String name, Map<SparseRequest, List<Integer>> holders) {
        String table =
                holders.entrySet().stream()
                        .map(
                                entry ->
                                        "  %s on ranks %s"
                                                .formatted(entry.getKey(), entry.getValue()))
                        .collect(Collectors.joining("\n"));
        return """
        sparse allreduce of '%s': the ranks disagree on what they sum
        %s
        Give it one dense shape, one op and one threshold on every rank."""
                .formatted(name, table);
    }

    @Override
    public String toString() {
        return "%s of the shape %s, dense above %s".formatted(op, shape, denseThreshold);
    }
}
