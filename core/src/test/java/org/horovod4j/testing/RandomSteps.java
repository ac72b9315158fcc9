package org.horovod4j.testing;

import org.horovod4j.AllreduceOptions;
import org.horovod4j.AlltoallOptions;
import org.horovod4j.AlltoallResult;
import org.horovod4j.Communicator;
import org.horovod4j.DataType;
import org.horovod4j.Handle;
import org.horovod4j.ReduceOp;
import org.horovod4j.ReducescatterOptions;
import org.horovod4j.Scale;
import org.horovod4j.Shape;
import org.horovod4j.Tensor;
import org.jspecify.annotations.Nullable;

import java.util.Arrays;
import java.util.List;
import java.util.SplittableRandom;
import java.util.function.IntFunction;
import java.util.function.Supplier;
import java.util.stream.IntStream;

/// Generates the random operations of a [RandomWorkload].
final class RandomSteps {
    /// Powers of two, so that scaling is exact.
    private static final List<Scale> SCALES =
            List.of(Scale.NONE, Scale.before(0.5), Scale.after(0.25), new Scale(2, -0.5));

    private final SplittableRandom random;
    private final int ranks;
    private final int maxElements;

    RandomSteps(long seed, int ranks, int maxElements) {
        this.random = new SplittableRandom(seed);
        this.ranks = ranks;
        this.maxElements = maxElements;
    }

    WorkloadStep next() {
        return switch (random.nextInt(7)) {
            case 0 -> barrier();
            case 1 -> allgather();
            case 2 -> broadcast();
            case 3 -> alltoall();
            case 4 -> reducescatter();
            default -> allreduce();
        };
    }

    private WorkloadStep allreduce() {
        DataType type = oneOf(DataType.values());
        ReduceOp op = reduceOp(type);
        Scale scale = scale(type, op);
        List<Tensor> inputs = SampleTensors.forRanks(ranks, type, shape(), op, random.nextLong());
        Memory memory = oneOf(Memory.values());
        boolean async = random.nextBoolean();
        return new WorkloadStep(
                describe(
                        "allreduce, " + op + ", " + scale + ", " + memory,
                        async,
                        inputs.getFirst()),
                (comm, name) -> {
                    Tensor tensor = memory.copy(comm, inputs.get(comm.rank()));
                    if (async) {
                        return comm.allreduceAsync(
                                        name, tensor, AllreduceOptions.of(op).withScale(scale))
                                ::join;
                    }
                    comm.allreduce(name, tensor, AllreduceOptions.of(op).withScale(scale));
                    return () -> tensor;
                },
                sameForAll(() -> ReferenceCollectives.allreduce(inputs, op, scale)));
    }

    private WorkloadStep reducescatter() {
        DataType type = oneOf(DataType.values());
        ReduceOp op =
                type == DataType.BOOL || random.nextBoolean() ? ReduceOp.SUM : ReduceOp.AVERAGE;
        Scale scale = scale(type, op);
        List<Tensor> inputs = SampleTensors.forRanks(ranks, type, shape(), op, random.nextLong());
        boolean async = random.nextBoolean();
        IntFunction<Tensor> reduced =
                sameForAll(() -> ReferenceCollectives.allreduce(inputs, op, scale));
        return new WorkloadStep(
                describe("reducescatter, " + op + ", " + scale, async, inputs.getFirst()),
                (comm, name) -> {
                    Tensor tensor = inputs.get(comm.rank());
                    return async
                            ? comm.reducescatterAsync(
                                            name,
                                            tensor,
                                            ReducescatterOptions.of(op).withScale(scale))
                                    ::join
                            : done(
                                    comm.reducescatter(
                                            name,
                                            tensor,
                                            ReducescatterOptions.of(op).withScale(scale)));
                },
                rank -> ReferenceCollectives.reducescatterPart(reduced.apply(rank), rank, ranks));
    }

    private WorkloadStep allgather() {
        DataType type = oneOf(DataType.values());
        Shape shape = shape();
        List<Tensor> inputs =
                IntStream.range(0, ranks)
                        .mapToObj(_ -> sample(type, shape.withRows(rows(shape))))
                        .toList();
        boolean async = random.nextBoolean();
        return new WorkloadStep(
                describe("allgather", async, inputs.getFirst()),
                (comm, name) -> {
                    Tensor tensor = inputs.get(comm.rank());
                    return async
                            ? comm.allgatherAsync(name, tensor)::join
                            : done(comm.allgather(name, tensor));
                },
                sameForAll(() -> ReferenceCollectives.allgather(inputs)));
    }

    private WorkloadStep broadcast() {
        DataType type = oneOf(DataType.values());
        List<Tensor> inputs =
                SampleTensors.forRanks(ranks, type, shape(), ReduceOp.SUM, random.nextLong());
        int root = random.nextInt(ranks);
        Memory memory = oneOf(Memory.values());
        boolean async = random.nextBoolean();
        return new WorkloadStep(
                describe("broadcast from " + root + ", " + memory, async, inputs.getFirst()),
                (comm, name) -> {
                    Tensor tensor = memory.copy(comm, inputs.get(comm.rank()));
                    return async
                            ? comm.broadcastAsync(name, tensor, root)::join
                            : done(comm.broadcast(name, tensor, root));
                },
                _ -> inputs.get(root));
    }

    private WorkloadStep alltoall() {
        DataType type = oneOf(DataType.values());
        Shape shape = shape();
        int most = Math.toIntExact(shape.dimension(0) / ranks) + 1;
        int[][] splits = new int[ranks][];
        Arrays.setAll(splits, _ -> random.ints(ranks, 0, most + 1).toArray());
        List<Tensor> inputs =
                Arrays.stream(splits)
                        .map(each -> sample(type, shape.withRows(Arrays.stream(each).sum())))
                        .toList();
        boolean async = random.nextBoolean();
        return new WorkloadStep(
                describe("alltoall", async, inputs.getFirst()),
                (comm, name) -> {
                    Tensor tensor = inputs.get(comm.rank());
                    int[] mine = splits[comm.rank()];
                    if (async) {
                        Handle<AlltoallResult> handle =
                                comm.alltoallAsync(name, tensor, AlltoallOptions.splits(mine));
                        return () -> handle.join().tensor();
                    }
                    return done(comm.alltoall(name, tensor, AlltoallOptions.splits(mine)).tensor());
                },
                rank -> ReferenceCollectives.alltoall(inputs, splits, rank));
    }

    private static WorkloadStep barrier() {
        Tensor nothing = Tensor.zeros(DataType.UINT8, Shape.of(0));
        return new WorkloadStep(
                "barrier",
                (comm, _) -> {
                    comm.barrier();
                    return done(nothing);
                },
                _ -> nothing);
    }

    private static WorkloadStep.Running done(Tensor tensor) {
        return () -> tensor;
    }

    /// The memory of a tensor that is changed in place.
    private enum Memory {
        NATIVE,
        HEAP,
        SHARED;

        Tensor copy(Communicator communicator, Tensor tensor) {
            return switch (this) {
                case NATIVE -> SampleTensors.copy(tensor);
                case HEAP -> SampleTensors.onHeap(tensor);
                case SHARED -> SampleTensors.shared(communicator, tensor);
            };
        }
    }

    /// One to three dimensions, with the maximum number of elements or far fewer.
    private Shape shape() {
        long elements = (long) Math.expm1(random.nextDouble() * Math.log1p(maxElements));
        return switch (random.nextInt(3)) {
            case 0 -> Shape.of(elements);
            case 1 -> Shape.of(elements / 3, 3);
            default -> Shape.of(elements / 10, 2, 5);
        };
    }

    private long rows(Shape shape) {
        return random.nextLong(shape.dimension(0) + 1);
    }

    private Tensor sample(DataType type, Shape shape) {
        return SampleTensors.of(type, shape, ReduceOp.SUM, random.nextLong());
    }

    private ReduceOp reduceOp(DataType type) {
        ReduceOp op =
                SampleTensors.ELEMENTWISE.get(random.nextInt(SampleTensors.ELEMENTWISE.size()));
        return type == DataType.BOOL && op == ReduceOp.AVERAGE ? ReduceOp.SUM : op;
    }

    /// None for products: they would exceed the range of small floats if all ranks scale.
    private Scale scale(DataType type, ReduceOp op) {
        return type == DataType.BOOL || op == ReduceOp.PRODUCT
                ? Scale.NONE
                : SCALES.get(random.nextInt(SCALES.size()));
    }

    private <T> T oneOf(T[] values) {
        return values[random.nextInt(values.length)];
    }

    private static String describe(String what, boolean async, Tensor tensor) {
        return "%s %s, tensor %s on rank 0".formatted(async ? "async" : "sync", what, tensor);
    }

    /// A result that is computed by the first rank that needs it.
    private static IntFunction<Tensor> sameForAll(Supplier<Tensor> reference) {
        return new IntFunction<>() {
            private @Nullable Tensor result;

            @Override
            public synchronized Tensor apply(int rank) {
                Tensor known = result;
                if (known == null) {
                    known = reference.get();
                    result = known;
                }
                return known;
            }
        };
    }
}
