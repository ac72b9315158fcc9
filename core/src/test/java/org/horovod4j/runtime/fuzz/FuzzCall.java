package org.horovod4j.runtime.fuzz;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.horovod4j.testing.TensorAssert.assertThat;

import org.horovod4j.AlltoallOptions;
import org.horovod4j.AlltoallResult;
import org.horovod4j.Communicator;
import org.horovod4j.DataType;
import org.horovod4j.Handle;
import org.horovod4j.MismatchException;
import org.horovod4j.ReduceOp;
import org.horovod4j.Scale;
import org.horovod4j.Shape;
import org.horovod4j.Tensor;
import org.horovod4j.runtime.message.CollectiveKind;
import org.horovod4j.testing.ReferenceCollectives;
import org.horovod4j.testing.SampleTensors;
import org.jspecify.annotations.Nullable;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Set;
import java.util.SplittableRandom;
import java.util.function.Function;
import java.util.stream.IntStream;

/// An operation in one step: the inputs of each rank, and the expected results.
final class FuzzCall {
    static final int NO_RANK = -1;

    private final FuzzOperation operation;
    private final long seed;
    private final int size;
    private final Set<Integer> joined;
    private final int odd;
    private @Nullable List<List<Tensor>> inputs;
    private @Nullable List<Tensor> reduced;

    /// @param size the number of ranks, joined ones included
    /// @param joined the ranks without data
    /// @param odd the rank with another type than the others, or [#NO_RANK]
    FuzzCall(FuzzOperation operation, long seed, int size, Set<Integer> joined, int odd) {
        this.operation = operation;
        this.seed = seed;
        this.size = size;
        this.joined = Set.copyOf(joined);
        this.odd = odd;
    }

    FuzzOperation operation() {
        return operation;
    }

    /// A submitted call.
    interface RunningCall {
        boolean isDone();

        /// Waits for the result and compares it with the expected one.
        void check();
    }

    RunningCall start(Communicator communicator, FuzzMemory memory) {
        int rank = communicator.rank();
        String name = operation.name();
        List<Tensor> mine = inputs().get(rank);
        List<Tensor> tensors =
                IntStream.range(0, mine.size())
                        .mapToObj(
                                i ->
                                        isInPlace()
                                                ? memory.copyOf(communicator, name + i, mine.get(i))
                                                : mine.get(i))
                        .toList();
        Tensor tensor = tensors.getFirst();
        return switch (operation.collectiveKind()) {
            case ALLREDUCE ->
                    tensors.size() > 1
                            ? running(
                                    rank,
                                    communicator.groupedAllreduceAsync(
                                            name, tensors, operation.op()),
                                    Function.identity())
                            : running(
                                    rank,
                                    communicator.allreduceAsync(name, tensor, operation.op()),
                                    List::of);
            case ALLGATHER -> running(rank, communicator.allgatherAsync(name, tensor), List::of);
            case BROADCAST ->
                    running(rank, communicator.broadcastAsync(name, tensor, root()), List::of);
            case ALLTOALL ->
                    running(
                            rank,
                            communicator.alltoallAsync(
                                    name, tensor, AlltoallOptions.splits(splits()[rank])),
                            FuzzCall::received);
            case REDUCESCATTER ->
                    running(
                            rank,
                            communicator.reducescatterAsync(name, tensor, operation.op()),
                            List::of);
            case BARRIER -> throw new IllegalStateException("a barrier is not asynchronous");
        };
    }

    private static List<Tensor> received(AlltoallResult alltoallResult) {
        return List.of(alltoallResult.tensor());
    }

    private <T> RunningCall running(int rank, Handle<T> handle, Function<T, List<Tensor>> tensors) {
        return new RunningCall() {
            @Override
            public boolean isDone() {
                return handle.isDone();
            }

            @Override
            public void check() {
                if (odd == NO_RANK) {
                    FuzzCall.this.check(rank, tensors.apply(handle.join()));
                } else {
                    assertThatThrownBy(handle::join)
                            .as("%s", FuzzCall.this)
                            .isInstanceOf(MismatchException.class)
                            .hasMessageContaining("data type")
                            .hasMessageContaining("on rank ");
                }
            }
        };
    }

    private void check(int rank, List<Tensor> results) {
        assertThat(results).hasSize(operation.members());
        for (int i = 0; i < results.size(); i++) {
            assertThat(results.get(i))
                    .as("%s, tensor %d on rank %d", this, i, rank)
                    .isBitwiseEqualTo(expected(rank, i));
        }
    }

    private Tensor expected(int rank, int index) {
        return switch (operation.collectiveKind()) {
            case ALLREDUCE -> reduced().get(index);
            case REDUCESCATTER ->
                    ReferenceCollectives.reducescatterPart(reduced().get(index), rank, size);
            case ALLGATHER -> ReferenceCollectives.allgather(of(index));
            case BROADCAST -> inputs().get(root()).get(index);
            case ALLTOALL -> ReferenceCollectives.alltoall(of(index), splits(), rank);
            case BARRIER -> throw new IllegalStateException("a barrier gives nothing");
        };
    }

    private synchronized List<Tensor> reduced() {
        List<Tensor> known = reduced;
        if (known == null) {
            known =
                    IntStream.range(0, operation.members())
                            .mapToObj(
                                    i ->
                                            ReferenceCollectives.allreduce(
                                                    of(i), operation.op(), Scale.NONE))
                            .toList();
            reduced = known;
        }
        return known;
    }

    /// One tensor of each rank that counts. Joined ranks count for sums and averages, with zeros,
    /// and for moves, with no rows.
    private List<Tensor> of(int index) {
        boolean counted =
                !Set.of(ReduceOp.MIN, ReduceOp.MAX, ReduceOp.PRODUCT).contains(operation.op());
        return IntStream.range(0, size)
                .filter(rank -> counted || !joined.contains(rank))
                .mapToObj(rank -> inputs().get(rank).get(index))
                .toList();
    }

    /// The inputs of each rank: `inputs().get(rank).get(tensor)`.
    private synchronized List<List<Tensor>> inputs() {
        List<List<Tensor>> known = inputs;
        if (known == null) {
            known = IntStream.range(0, size).mapToObj(this::input).toList();
            inputs = known;
        }
        return known;
    }

    private List<Tensor> input(int rank) {
        List<Tensor> tensors = new ArrayList<>();
        for (int i = 0; i < operation.members(); i++) {
            Shape shape = shape(rank);
            tensors.add(
                    joined.contains(rank)
                            ? Tensor.zeros(operation.type(), shape)
                            : SampleTensors.of(
                                    type(rank),
                                    shape,
                                    operation.op(),
                                    seed * 977 + 31L * rank + i));
        }
        return tensors;
    }

    private DataType type(int rank) {
        DataType usual = operation.type();
        if (rank != odd) {
            return usual;
        }
        return usual == DataType.FLOAT32 ? DataType.FLOAT64 : DataType.FLOAT32;
    }

    private Shape shape(int rank) {
        Shape most = operation.shape();
        return switch (operation.collectiveKind()) {
            case ALLGATHER ->
                    most.withRows(
                            joined.contains(rank)
                                    ? 0
                                    : new SplittableRandom(seed + rank)
                                            .nextLong(most.dimension(0) + 1));
            case ALLTOALL -> most.withRows(Arrays.stream(splits()[rank]).sum());
            case ALLREDUCE, REDUCESCATTER, BROADCAST, BARRIER -> most;
        };
    }

    /// The number of rows that each rank sends to each.
    private int[][] splits() {
        int most = (int) operation.shape().dimension(0) / size + 1;
        int[][] splits = new int[size][size];
        for (int rank = 0; rank < size; rank++) {
            if (!joined.contains(rank)) {
                splits[rank] = new SplittableRandom(seed + rank).ints(size, 0, most).toArray();
            }
        }
        return splits;
    }

    /// A rank that has not joined. It depends on the name only, so that steps with the same ranks
    /// are equal.
    private int root() {
        int root = Math.floorMod(operation.name().hashCode(), size);
        while (joined.contains(root)) {
            root = (root + 1) % size;
        }
        return root;
    }

    /// Whether tensors are overwritten.
    private boolean isInPlace() {
        return operation.collectiveKind() == CollectiveKind.ALLREDUCE
                || operation.collectiveKind() == CollectiveKind.BROADCAST;
    }

    @Override
    public String toString() {
        return "%s%s%s"
                .formatted(
                        operation,
                        joined.isEmpty() ? "" : ", joined: " + joined,
                        odd == NO_RANK ? "" : ", odd: " + odd);
    }
}
