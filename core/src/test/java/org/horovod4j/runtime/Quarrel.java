package org.horovod4j.runtime;

import org.horovod4j.Communicator;
import org.horovod4j.DataType;
import org.horovod4j.ReduceOp;
import org.horovod4j.Scale;
import org.horovod4j.Shape;
import org.horovod4j.Tensor;

import java.util.ArrayList;
import java.util.List;

/// One rank asks for something else than the others do, under the same name.
///
/// @param about what the report should say they disagree on
/// @param usual what the others ask for
/// @param odd what the one rank asks for
record Quarrel(String about, Asked usual, Asked odd) {
    private static final String OPERATION = "'t': the ranks disagree on the operation";
    private static final Scale TWICE = Scale.after(2);

    /// What a rank asks for, and how the report should put it.
    ///
    /// @param words how the report tells it from the others'
    /// @param type of the tensor
    /// @param shape of the tensor
    /// @param call asks for it
    record Asked(String words, DataType type, Shape shape, Call call) {}

    /// A collective on a tensor.
    interface Call {
        void on(Communicator communicator, Tensor tensor);
    }

    /// Every kind of disagreement, about small tensors and about large ones.
    static List<Quarrel> all() {
        List<Quarrel> all = new ArrayList<>(betweenKinds());
        for (long rows : new long[] {4, 90_000}) {
            all.addAll(aboutReductions(rows));
            all.addAll(aboutMoves(rows));
        }
        return all;
    }

    /// Each collective against each other one.
    private static List<Quarrel> betweenKinds() {
        List<Asked> kinds =
                List.of(
                        kind(
                                "allreduce",
                                (comm, tensor) -> comm.allreduce("t", tensor, ReduceOp.SUM)),
                        kind("allgather", (comm, tensor) -> comm.allgather("t", tensor)),
                        kind(
                                "broadcast",
                                (comm, tensor) -> comm.broadcast("t", tensor, comm.size() - 1)),
                        kind(
                                "alltoall",
                                (comm, tensor) -> comm.alltoall("t", tensor, new int[comm.size()])),
                        kind(
                                "reducescatter",
                                (comm, tensor) -> comm.reducescatter("t", tensor, ReduceOp.SUM)));
        return kinds.stream()
                .flatMap(
                        usual ->
                                kinds.stream()
                                        .filter(odd -> !odd.equals(usual))
                                        .map(odd -> new Quarrel(OPERATION, usual, odd)))
                .toList();
    }

    private static Asked kind(String words, Call call) {
        return new Asked(words, DataType.FLOAT32, Shape.of(6), call);
    }

    private static List<Quarrel> aboutReductions(long rows) {
        Shape shape = Shape.of(rows, 6);
        Call sum = (comm, tensor) -> comm.allreduce("t", tensor, ReduceOp.SUM);
        Call max = (comm, tensor) -> comm.allreduce("t", tensor, ReduceOp.MAX);
        Call twice = (comm, tensor) -> comm.allreduce("t", tensor, ReduceOp.SUM, TWICE);
        Call scatter = (comm, tensor) -> comm.reducescatter("t", tensor, ReduceOp.SUM);
        Call scatterMean = (comm, tensor) -> comm.reducescatter("t", tensor, ReduceOp.AVERAGE);
        Asked usual = new Asked("", DataType.FLOAT32, shape, sum);
        return List.of(
                quarrel("reduce op", usual, "SUM", "MAX", max),
                quarrel(
                        "prescale or postscale",
                        usual,
                        "prescale 1.0, postscale 1.0",
                        "prescale 1.0, postscale 2.0",
                        twice),
                quarrel(DataType.FLOAT32, DataType.INT32, shape, sum),
                quarrel("shape", shape, Shape.of(rows + 1, 6), sum),
                quarrel("shape", shape, Shape.of(6 * rows), sum),
                quarrel("shape", shape, Shape.of(rows + 1, 6), scatter),
                quarrel(
                        "reduce op",
                        new Asked("", DataType.FLOAT32, shape, scatter),
                        "SUM",
                        "AVERAGE",
                        scatterMean));
    }

    private static List<Quarrel> aboutMoves(long rows) {
        Shape shape = Shape.of(rows, 6);
        Call gather = (comm, tensor) -> comm.allgather("t", tensor);
        Call alltoall = (comm, tensor) -> comm.alltoall("t", tensor, new int[comm.size()]);
        Call fromFirst = (comm, tensor) -> comm.broadcast("t", tensor, 0);
        Call fromLast = (comm, tensor) -> comm.broadcast("t", tensor, comm.size() - 1);
        return List.of(
                quarrel("dimensions after the first", shape, Shape.of(rows, 7), gather),
                quarrel("dimensions after the first", shape, Shape.of(6 * rows), gather),
                quarrel("dimensions after the first", shape, Shape.of(rows, 7), alltoall),
                quarrel("dimensions after the first", shape, Shape.of(rows, 2, 3), alltoall),
                quarrel("shape", shape, Shape.of(rows, 7), fromFirst),
                quarrel(DataType.INT16, DataType.FLOAT16, shape, gather),
                quarrel(DataType.INT16, DataType.FLOAT16, shape, alltoall),
                quarrel(DataType.INT8, DataType.INT64, shape, fromLast),
                new Quarrel(
                        "root rank",
                        new Asked("root rank 0", DataType.FLOAT32, shape, fromFirst),
                        new Asked("root rank ", DataType.FLOAT32, shape, fromLast)),
                new Quarrel(
                        "root rank",
                        new Asked("root rank ", DataType.FLOAT32, shape, fromLast),
                        new Asked("root rank 0", DataType.FLOAT32, shape, fromFirst)));
    }

    /// Two calls on equal tensors.
    private static Quarrel quarrel(
            String about, Asked usual, String usualWords, String oddWords, Call odd) {
        return new Quarrel(
                about,
                new Asked(usualWords, usual.type, usual.shape, usual.call),
                new Asked(oddWords, usual.type, usual.shape, odd));
    }

    /// One call on tensors of two types.
    private static Quarrel quarrel(DataType usual, DataType odd, Shape shape, Call call) {
        return new Quarrel(
                "data type",
                new Asked(usual.toString(), usual, shape, call),
                new Asked(odd.toString(), odd, shape, call));
    }

    /// One call on tensors of two shapes.
    private static Quarrel quarrel(String about, Shape usual, Shape odd, Call call) {
        return new Quarrel(
                about,
                new Asked(usual.toString(), DataType.FLOAT32, usual, call),
                new Asked(odd.toString(), DataType.FLOAT32, odd, call));
    }
}
