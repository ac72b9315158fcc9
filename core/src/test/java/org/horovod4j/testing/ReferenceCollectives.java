package org.horovod4j.testing;

import org.horovod4j.DataType;
import org.horovod4j.ReduceOp;
import org.horovod4j.Scale;
import org.horovod4j.Tensor;

import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/// The expected results of collectives, computed from their definition: one loop over elements, one
/// over ranks.
public final class ReferenceCollectives {
    private ReferenceCollectives() {}

    public static Tensor allreduce(List<Tensor> inputs, ReduceOp op, Scale scale) {
        Tensor first = inputs.getFirst();
        List<Elements> ranks = inputs.stream().map(Elements::of).toList();
        Elements output = Elements.zerosFor(Tensor.zeros(first.dataType(), first.shape()));
        for (int i = 0; i < output.count(); i++) {
            if (first.dataType().isFloatingPoint()) {
                output.set(i, real(ranks, i, op, scale));
            } else {
                output.set(i, integer(first.dataType(), ranks, i, op, scale));
            }
        }
        return output.store();
    }

    private static double real(List<Elements> ranks, int index, ReduceOp op, Scale scale) {
        double result = ranks.getFirst().real(index) * scale.prescale();
        for (int rank = 1; rank < ranks.size(); rank++) {
            double value = ranks.get(rank).real(index) * scale.prescale();
            result =
                    switch (op) {
                        case SUM, AVERAGE -> result + value;
                        case PRODUCT -> result * value;
                        case MIN -> Math.min(result, value);
                        case MAX -> Math.max(result, value);
                        case ADASUM ->
                                throw new IllegalArgumentException(
                                        "not computed element by element");
                    };
        }
        return (op == ReduceOp.AVERAGE ? result / ranks.size() : result) * scale.postscale();
    }

    private static long integer(
            DataType type, List<Elements> ranks, int index, ReduceOp op, Scale scale) {
        if (op == ReduceOp.AVERAGE && type != DataType.INT64) {
            return wideAverage(type, ranks, index, scale);
        }
        long result = scaled(type, ranks.getFirst().integer(index), scale.prescale());
        for (int rank = 1; rank < ranks.size(); rank++) {
            long value = scaled(type, ranks.get(rank).integer(index), scale.prescale());
            result =
                    switch (op) {
                        case SUM, AVERAGE -> result + value;
                        case PRODUCT -> result * value;
                        case MIN -> Math.min(result, value);
                        case MAX -> Math.max(result, value);
                        case ADASUM ->
                                throw new IllegalArgumentException(
                                        "not computed element by element");
                    };
        }
        long wrapped = wrapped(type, result);
        return scaled(
                type, op == ReduceOp.AVERAGE ? wrapped / ranks.size() : wrapped, scale.postscale());
    }

    /// An average of integers is computed in a wider type, and clamped at the end.
    private static long wideAverage(DataType type, List<Elements> ranks, int index, Scale scale) {
        DataType wide = type == DataType.INT32 ? DataType.INT64 : DataType.INT32;
        long sum = 0;
        for (Elements rank : ranks) {
            sum += scaled(wide, rank.integer(index), scale.prescale());
        }
        return Math.clamp(
                scaled(wide, wrapped(wide, sum) / ranks.size(), scale.postscale()),
                Elements.least(type),
                Elements.greatest(type));
    }

    /// Wraps an integer that may be too large; for `bool`, the sum is an or.
    private static long wrapped(DataType type, long value) {
        int unused = Long.SIZE - Byte.SIZE * type.byteSize();
        return switch (type) {
            case UINT8, UINT16 -> value << unused >>> unused;
            case INT8, INT16, INT32, INT64 -> value << unused >> unused;
            case BOOL -> value == 0 ? 0 : 1;
            case FLOAT16, BFLOAT16, FLOAT32, FLOAT64 -> throw new AssertionError(type);
        };
    }

    private static long scaled(DataType type, long value, double factor) {
        return factor == 1.0
                ? value
                : Math.clamp(
                        (long) (value * factor), Elements.least(type), Elements.greatest(type));
    }

    public static Tensor allgather(List<Tensor> inputs) {
        long rows = inputs.stream().mapToLong(input -> input.shape().dimension(0)).sum();
        Tensor first = inputs.getFirst();
        Tensor output = Tensor.zeros(first.dataType(), first.shape().withRows(rows));
        long at = 0;
        for (Tensor input : inputs) {
            MemorySegment.copy(input.segment(), 0, output.segment(), at, input.byteSize());
            at += input.byteSize();
        }
        return output;
    }

    /// What `rank` receives when rank `r` sends `splits[r][t]` rows to each rank `t`.
    public static Tensor alltoall(List<Tensor> inputs, int[][] splits, int rank) {
        List<Tensor> pieces = new ArrayList<>();
        for (int source = 0; source < inputs.size(); source++) {
            long before = Arrays.stream(splits[source]).limit(rank).asLongStream().sum();
            pieces.add(rows(inputs.get(source), before, before + splits[source][rank]));
        }
        return allgather(pieces);
    }

    /// The rows of a reduced tensor that `rank` receives in a reducescatter.
    public static Tensor reducescatterPart(Tensor reduced, int rank, int ranks) {
        long rows = reduced.shape().dimension(0);
        long start = 0;
        for (int before = 0; before < rank; before++) {
            start += partRows(rows, before, ranks);
        }
        return rows(reduced, start, start + partRows(rows, rank, ranks));
    }

    private static long partRows(long rows, int rank, int ranks) {
        return rows / ranks + (rank < rows % ranks ? 1 : 0);
    }

    private static Tensor rows(Tensor tensor, long start, long end) {
        long rowBytes = tensor.shape().rowElements() * tensor.dataType().byteSize();
        return Tensor.of(
                tensor.segment().asSlice(start * rowBytes, (end - start) * rowBytes),
                tensor.dataType(),
                tensor.shape().withRows(end - start));
    }
}
