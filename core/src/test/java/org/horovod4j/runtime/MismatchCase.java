package org.horovod4j.runtime;

import org.horovod4j.AllreduceOptions;
import org.horovod4j.AlltoallOptions;
import org.horovod4j.Communicator;
import org.horovod4j.DataType;
import org.horovod4j.ReduceOp;
import org.horovod4j.Scale;
import org.horovod4j.Shape;
import org.horovod4j.SparseTensor;
import org.horovod4j.Tensor;
import org.horovod4j.compression.TopK;

import java.util.ArrayList;
import java.util.List;

/// One rank requests something else than the others, under the same name.
///
/// @param about what the report says they disagree on
/// @param usual the request of the others
/// @param odd the request of the one rank
record MismatchCase(String about, RankRequest usual, RankRequest odd) {
    private static final String OPERATION = "'t': the ranks disagree on the operation";
    private static final String SIZE =
            "groupedAllreduce of 't': the ranks disagree on the number of its tensors";
    private static final Scale TWICE = Scale.after(2);

    /// A request, and how the report describes it.
    ///
    /// @param words the description in the report
    /// @param type of the tensor
    /// @param shape of the tensor
    /// @param collectiveCall submits it
    record RankRequest(String words, DataType type, Shape shape, CollectiveCall collectiveCall) {}

    /// A collective on a tensor.
    interface CollectiveCall {
        void on(Communicator communicator, Tensor tensor);
    }

    /// Every kind of disagreement, about small tensors and about large ones.
    static List<MismatchCase> all() {
        List<MismatchCase> all = new ArrayList<>(betweenKinds());
        all.addAll(aboutCompositeCalls());
        for (long rows : new long[] {4, 90_000}) {
            all.addAll(aboutReductions(rows));
            all.addAll(aboutMoves(rows));
        }
        return all;
    }

    /// Each collective against each other one.
    private static List<MismatchCase> betweenKinds() {
        List<RankRequest> kinds =
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
                                (comm, tensor) ->
                                        comm.alltoall(
                                                "t",
                                                tensor,
                                                AlltoallOptions.splits(new int[comm.size()]))),
                        kind(
                                "reducescatter",
                                (comm, tensor) -> comm.reducescatter("t", tensor, ReduceOp.SUM)));
        return kinds.stream()
                .flatMap(
                        usual ->
                                kinds.stream()
                                        .filter(odd -> !odd.equals(usual))
                                        .map(odd -> new MismatchCase(OPERATION, usual, odd)))
                .toList();
    }

    /// Calls that run as operations with names of their own, against others of the same name.
    private static List<MismatchCase> aboutCompositeCalls() {
        RankRequest allreduce =
                kind("allreduce", (comm, tensor) -> comm.allreduce("t", tensor, ReduceOp.SUM));
        RankRequest broadcast = kind("broadcast", (comm, tensor) -> comm.broadcast("t", tensor, 0));
        RankRequest allgather = kind("allgather", (comm, tensor) -> comm.allgather("t", tensor));
        RankRequest pair = group("groupedAllreduce of 2 tensors", 2);
        RankRequest gathered =
                kind(
                        "groupedAllgather of 2 tensors",
                        (comm, tensor) ->
                                comm.groupedAllgather("t", List.of(tensor, tensor.copy())));
        RankRequest sparse = kind("sparseAllreduce", MismatchCase::sparse);
        RankRequest topK =
                kind(
                        "compressed allreduce",
                        (comm, tensor) ->
                                comm.allreduce(
                                        "t",
                                        tensor,
                                        AllreduceOptions.sum().withCompressor(TopK.ratio(0.5))));
        RankRequest sent =
                kind("broadcastObject", (comm, _) -> comm.broadcastObject("t", "text", 0));
        RankRequest collected =
                kind("allgatherObject", (comm, _) -> comm.allgatherObject("t", "text"));
        RankRequest emptyGathered =
                kind(
                        "groupedAllgather of 0 tensors",
                        (comm, _) -> comm.groupedAllgather("t", List.of()));
        RankRequest emptyCompressed =
                kind(
                        "0 tensors",
                        (comm, _) ->
                                comm.groupedAllreduce(
                                        "t",
                                        List.of(),
                                        AllreduceOptions.sum().withCompressor(TopK.ratio(0.5))));
        return List.of(
                new MismatchCase(OPERATION, broadcast, sent),
                new MismatchCase(OPERATION, sent, broadcast),
                new MismatchCase(OPERATION, allgather, collected),
                new MismatchCase(OPERATION, collected, sent),
                new MismatchCase(OPERATION, allreduce, pair),
                new MismatchCase(OPERATION, pair, allreduce),
                new MismatchCase(OPERATION, pair, gathered),
                new MismatchCase(OPERATION, allreduce, sparse),
                new MismatchCase(OPERATION, sparse, pair),
                new MismatchCase(OPERATION, allreduce, topK),
                new MismatchCase(SIZE, group("2 tensors", 2), group("3 tensors", 3)),
                new MismatchCase(SIZE, group("2 tensors", 2), group("0 tensors", 0)),
                new MismatchCase(SIZE, group("0 tensors", 0), group("1 tensor", 1)),
                new MismatchCase(SIZE, group("1 tensor", 1), emptyCompressed),
                new MismatchCase(OPERATION, allgather, emptyGathered),
                new MismatchCase(
                        OPERATION, group("groupedAllreduce of 0 tensors", 0), emptyGathered));
    }

    private static RankRequest group(String words, int members) {
        return kind(
                words,
                (comm, tensor) -> {
                    List<Tensor> tensors = new ArrayList<>();
                    for (int i = 0; i < members; i++) {
                        tensors.add(i == 0 ? tensor : tensor.copy());
                    }
                    comm.groupedAllreduce("t", tensors, ReduceOp.SUM);
                });
    }

    /// Rows 0 and 1 of a tensor of ten rows.
    private static void sparse(Communicator communicator, Tensor tensor) {
        SparseTensor rows =
                new SparseTensor(
                        Tensor.of(new int[] {0, 1}), tensor.reshape(2, 3), Shape.of(10, 3));
        communicator.sparseAllreduceAsync("t", rows, ReduceOp.SUM).join();
    }

    private static RankRequest kind(String words, CollectiveCall collectiveCall) {
        return new RankRequest(words, DataType.FLOAT32, Shape.of(6), collectiveCall);
    }

    private static List<MismatchCase> aboutReductions(long rows) {
        Shape shape = Shape.of(rows, 6);
        CollectiveCall sum = (comm, tensor) -> comm.allreduce("t", tensor, ReduceOp.SUM);
        CollectiveCall max = (comm, tensor) -> comm.allreduce("t", tensor, ReduceOp.MAX);
        CollectiveCall twice =
                (comm, tensor) ->
                        comm.allreduce("t", tensor, AllreduceOptions.sum().withScale(TWICE));
        CollectiveCall scatter = (comm, tensor) -> comm.reducescatter("t", tensor, ReduceOp.SUM);
        CollectiveCall scatterMean =
                (comm, tensor) -> comm.reducescatter("t", tensor, ReduceOp.AVERAGE);
        RankRequest usual = new RankRequest("", DataType.FLOAT32, shape, sum);
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
                        new RankRequest("", DataType.FLOAT32, shape, scatter),
                        "SUM",
                        "AVERAGE",
                        scatterMean));
    }

    private static List<MismatchCase> aboutMoves(long rows) {
        Shape shape = Shape.of(rows, 6);
        CollectiveCall gather = (comm, tensor) -> comm.allgather("t", tensor);
        CollectiveCall alltoall =
                (comm, tensor) ->
                        comm.alltoall("t", tensor, AlltoallOptions.splits(new int[comm.size()]));
        CollectiveCall fromFirst = (comm, tensor) -> comm.broadcast("t", tensor, 0);
        CollectiveCall fromLast = (comm, tensor) -> comm.broadcast("t", tensor, comm.size() - 1);
        return List.of(
                ragged(shape, "[*, 7]", Shape.of(rows, 7), gather),
                ragged(shape, "[*]", Shape.of(6 * rows), gather),
                ragged(shape, "[*, 7]", Shape.of(rows, 7), alltoall),
                ragged(shape, "[*, 2, 3]", Shape.of(rows, 2, 3), alltoall),
                quarrel("shape", shape, Shape.of(rows, 7), fromFirst),
                quarrel(DataType.INT16, DataType.FLOAT16, shape, gather),
                quarrel(DataType.INT16, DataType.FLOAT16, shape, alltoall),
                quarrel(DataType.INT8, DataType.INT64, shape, fromLast),
                new MismatchCase(
                        "root rank",
                        new RankRequest("root rank 0", DataType.FLOAT32, shape, fromFirst),
                        new RankRequest("root rank ", DataType.FLOAT32, shape, fromLast)),
                new MismatchCase(
                        "root rank",
                        new RankRequest("root rank ", DataType.FLOAT32, shape, fromLast),
                        new RankRequest("root rank 0", DataType.FLOAT32, shape, fromFirst)));
    }

    /// Two calls on equal tensors.
    private static MismatchCase quarrel(
            String about,
            RankRequest usual,
            String usualWords,
            String oddWords,
            CollectiveCall odd) {
        return new MismatchCase(
                about,
                new RankRequest(usualWords, usual.type, usual.shape, usual.collectiveCall),
                new RankRequest(oddWords, usual.type, usual.shape, odd));
    }

    /// One call on tensors of two types.
    private static MismatchCase quarrel(
            DataType usual, DataType odd, Shape shape, CollectiveCall collectiveCall) {
        return new MismatchCase(
                "data type",
                new RankRequest(usual.toString(), usual, shape, collectiveCall),
                new RankRequest(odd.toString(), odd, shape, collectiveCall));
    }

    /// One call whose first dimension may differ: the report shows the others.
    private static MismatchCase ragged(
            Shape usual, String oddWords, Shape odd, CollectiveCall collectiveCall) {
        return new MismatchCase(
                "dimensions after the first",
                new RankRequest("[*, 6]", DataType.FLOAT32, usual, collectiveCall),
                new RankRequest(oddWords, DataType.FLOAT32, odd, collectiveCall));
    }

    /// One call on tensors of two shapes.
    private static MismatchCase quarrel(
            String about, Shape usual, Shape odd, CollectiveCall collectiveCall) {
        return new MismatchCase(
                about,
                new RankRequest(usual.toString(), DataType.FLOAT32, usual, collectiveCall),
                new RankRequest(odd.toString(), DataType.FLOAT32, odd, collectiveCall));
    }
}
