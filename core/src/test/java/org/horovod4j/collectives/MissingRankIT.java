package org.horovod4j.collectives;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;
import static org.horovod4j.testing.TensorAssert.assertThat;

import org.horovod4j.DataType;
import org.horovod4j.ReduceOp;
import org.horovod4j.Scale;
import org.horovod4j.Shape;
import org.horovod4j.Tensor;
import org.horovod4j.collectives.BackendWorld.CancelledException;
import org.horovod4j.collectives.BackendWorld.Config;
import org.horovod4j.collectives.FusionCase.Memory;
import org.horovod4j.option.AllreduceChoice;
import org.horovod4j.spi.CancellableBackend;
import org.horovod4j.spi.FusedTensors;
import org.horovod4j.testing.Layout;
import org.horovod4j.testing.SampleTensors;
import org.horovod4j.testing.World.Transport;
import org.horovod4j.testsupport.SlowCases;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

import java.lang.foreign.MemorySegment;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.Future;
import java.util.stream.IntStream;
import java.util.stream.Stream;

/// If one rank never starts a collective, the other ranks cancel it. No tensor has changed then,
/// and after a reset the next operation gives correct results.
class MissingRankIT {
    /// Small enough for a notice, for the stages, and large enough for several pieces and rounds.
    private static final long[] COUNTS = {10, 30_000, 700_000};

    /// A rank that has called `Liveness.check` this often cannot proceed further.
    private static final int LIVENESS_CHECKS = 30;

    static Stream<Layout> layouts() {
        Stream<Layout> some =
                Stream.of(
                        new Layout(3, 1, Transport.LOCAL),
                        new Layout(2, 2, Transport.LOCAL),
                        new Layout(4, 2, Transport.SHM),
                        new Layout(3, 1, Transport.TCP));
        Stream<Layout> more =
                Stream.of(
                        new Layout(2, 1, Transport.LOCAL),
                        new Layout(4, 4, Transport.LOCAL),
                        new Layout(5, 2, Transport.LOCAL),
                        new Layout(2, 1, Transport.TCP));
        return SlowCases.ENABLED ? Stream.concat(some, more) : some;
    }

    /// One way to start an operation.
    @FunctionalInterface
    private interface Operation {
        /// Starts it on tensors that must not change before all ranks have started.
        ///
        /// @param input must never change
        /// @param output may change after all ranks have started
        void start(int rank, CancellableBackend backend, Tensor input, Tensor output);
    }

    private static List<Operation> operations(int ranks) {
        int[] splits = new int[ranks];
        Arrays.fill(splits, 1);
        return List.of(
                (_, backend, _, output) -> allreduce(backend, output, output, Scale.NONE),
                (_, backend, input, output) -> allreduce(backend, input, output, Scale.NONE),
                (_, backend, _, output) -> allreduce(backend, output, output, Scale.before(2)),
                (_, backend, _, output) -> fused(backend, output),
                MissingRankIT::reducescatter,
                (_, backend, input, _) -> backend.allgather(5, List.of(input)),
                (_, backend, input, output) -> backend.allgather(5, List.of(input, output)),
                (_, backend, _, output) -> backend.broadcast(5, output, 0),
                (_, backend, _, output) -> backend.broadcast(5, output, ranks - 1),
                (_, backend, input, _) -> backend.alltoall(5, input, splits),
                (_, backend, _, _) -> backend.barrier(5));
    }

    /// Operations that send few bytes or none between some ranks. These too must wait for all ranks.
    ///
    /// @param rows of each tensor
    private static List<Operation> smallOperations(int ranks, long rows) {
        int[] splits = new int[ranks];
        splits[0] = (int) rows;
        return List.of(
                (_, backend, _, output) -> allreduce(backend, output, output, Scale.NONE),
                (rank, backend, input, _) -> scatterRows(rank, ranks, backend, List.of(input)),
                (rank, backend, input, _) ->
                        scatterRows(rank, ranks, backend, List.of(input, input)),
                (_, backend, input, output) -> adasum(backend, input, output),
                (_, backend, input, _) -> backend.allgather(5, List.of(input)),
                (_, backend, _, output) -> backend.broadcast(5, output, 0),
                (_, backend, input, _) -> backend.alltoall(5, input, splits));
    }

    private static void adasum(CancellableBackend backend, Tensor input, Tensor output) {
        FusedTensors fusedTensors = new FusedTensors(input.dataType(), input.elementCount());
        FusionCase.set(fusedTensors, List.of(input), List.of(output));
        backend.adasum(5, fusedTensors, Scale.NONE);
    }

    /// Each rank receives its own rows.
    private static void scatterRows(
            int rank, int ranks, CancellableBackend backend, List<Tensor> inputs) {
        DataType dataType = inputs.getFirst().dataType();
        List<Shape> shapes = inputs.stream().map(Tensor::shape).toList();
        FusedTensors fusedTensors = FusedTensors.forReducescatter(dataType, shapes, rank, ranks);
        List<Tensor> outputs =
                IntStream.range(0, shapes.size())
                        .mapToLong(i -> fusedTensors.outputEnd(i) - fusedTensors.outputStart(i))
                        .mapToObj(count -> Tensor.zeros(dataType, Shape.of(count)))
                        .toList();
        FusionCase.set(fusedTensors, inputs, outputs);
        backend.reducescatter(5, fusedTensors, ReduceOp.SUM, Scale.NONE, 1);
    }

    private static void allreduce(
            CancellableBackend backend, Tensor input, Tensor output, Scale scale) {
        FusedTensors fusedTensors = new FusedTensors(input.dataType(), input.elementCount());
        FusionCase.set(fusedTensors, List.of(input), List.of(output));
        backend.allreduce(5, fusedTensors, ReduceOp.SUM, scale, 1);
    }

    /// The two halves of a tensor.
    private static void fused(CancellableBackend backend, Tensor output) {
        long half = output.elementCount() / 2;
        FusedTensors fusedTensors = new FusedTensors(output.dataType(), half, half);
        for (int i = 0; i < 2; i++) {
            MemorySegment memory = output.segment().asSlice(i * half * 4, half * 4);
            fusedTensors.set(i, memory, memory);
        }
        backend.allreduce(5, fusedTensors, ReduceOp.SUM, Scale.NONE, 1);
    }

    /// The output range of every rank is the whole tensor.
    private static void reducescatter(
            int rank, CancellableBackend backend, Tensor input, Tensor output) {
        FusedTensors fusedTensors = new FusedTensors(input.dataType(), input.elementCount());
        FusionCase.set(fusedTensors, List.of(input), List.of(output));
        backend.reducescatter(5, fusedTensors, ReduceOp.SUM, Scale.NONE, 1);
    }

    @ParameterizedTest
    @MethodSource("layouts")
    void operationWithMissingRankChangesNoTensor(Layout layout) throws Exception {
        try (BackendWorld world = Config.of(layout).open()) {
            int missing = 0;
            List<Operation> operations = operations(layout.size());
            for (int i = 0; i < COUNTS.length; i++) {
                List<RankTensors> tensors = RankTensors.forRanks(layout.size(), COUNTS[i]);
                for (int j = 0; j < operations.size(); j++) {
                    if (!isWanted(layout, i + j)) {
                        continue;
                    }
                    for (Memory memory : memories(missing)) {
                        runWithMissingRank(
                                world, operations.get(j), missing % layout.size(), tensors, memory);
                        missing++;
                    }
                }
            }
        }
    }

    /// Four ranks, each the only one of its domain: a message between two of them says nothing about
    /// the others.
    static Stream<Arguments> choices() {
        Layout four = new Layout(4, 1, Transport.TCP);
        Stream<Layout> more = SlowCases.ENABLED ? layouts() : Stream.of();
        return Stream.concat(Stream.of(four), more)
                .flatMap(
                        layout ->
                                Arrays.stream(AllreduceChoice.values())
                                        .filter(MissingRankIT::isWanted)
                                        .map(choice -> Arguments.of(layout, choice)));
    }

    private static boolean isWanted(AllreduceChoice choice) {
        return SlowCases.ENABLED || choice == AllreduceChoice.AUTO;
    }

    @ParameterizedTest
    @MethodSource("choices")
    void smallOperationWaitsForEveryRank(Layout layout, AllreduceChoice choice) throws Exception {
        try (BackendWorld world = Config.of(layout).withAllreduce(choice).open()) {
            for (long rows = 0; rows <= 1; rows++) {
                List<RankTensors> tensors = RankTensors.forRanks(layout.size(), rows);
                for (Operation operation : smallOperations(layout.size(), rows)) {
                    for (int missing = 0; missing < layout.size(); missing++) {
                        runWithMissingRank(world, operation, missing, tensors, Memory.NATIVE);
                    }
                }
            }
        }
    }

    /// Every operation with every count in the slow tests and in the layouts that need no files or
    /// sockets, else with one count in turn.
    private static boolean isWanted(Layout layout, int turn) {
        return SlowCases.ENABLED
                || layout.transport() == Transport.LOCAL
                || turn % COUNTS.length == 0;
    }

    /// All kinds of memory in the slow tests, else one in turn.
    private static List<Memory> memories(int turn) {
        List<Memory> all = List.of(Memory.NATIVE, Memory.HEAP, Memory.SHARED);
        return SlowCases.ENABLED ? all : List.of(all.get(turn % all.size()));
    }

    private static void runWithMissingRank(
            BackendWorld world,
            Operation operation,
            int missing,
            List<RankTensors> tensors,
            Memory memory)
            throws Exception {
        int[] present = IntStream.range(0, world.size()).filter(r -> r != missing).toArray();
        long[] before = Arrays.stream(present).mapToLong(world::livenessChecks).toArray();
        List<Future<Boolean>> waiting = new ArrayList<>();
        for (int rank : present) {
            waiting.add(
                    world.start(
                            rank,
                            (_, backend) -> {
                                assertCancelledWithoutChange(
                                        rank, backend, operation, tensors.get(rank), memory);
                                return true;
                            }));
        }
        for (int i = 0; i < present.length; i++) {
            int rank = present[i];
            long enough = before[i] + LIVENESS_CHECKS;
            Future<Boolean> done = waiting.get(i); // if it does not wait, it fails below
            await().pollInterval(Duration.ofMillis(1))
                    .until(() -> done.isDone() || world.livenessChecks(rank) > enough);
        }
        world.cancel();
        for (Future<Boolean> each : waiting) {
            assertThat(each.get()).isTrue();
        }
        world.reset();
        FusionCase next =
                FusionCase.of(
                        world.size(),
                        DataType.INT32,
                        List.of(Shape.of(11), Shape.of(2_000)),
                        ReduceOp.SUM,
                        Scale.NONE);
        world.run((rank, backend) -> next.allreduce(6, rank, backend, Memory.HEAP));
    }

    private static void assertCancelledWithoutChange(
            int rank,
            CancellableBackend backend,
            Operation operation,
            RankTensors expected,
            Memory memory) {
        List<Tensor> tensors =
                memory.copies(List.of(expected.input, expected.output), backend, rank);
        assertThatThrownBy(() -> operation.start(rank, backend, tensors.get(0), tensors.get(1)))
                .isInstanceOf(CancelledException.class);
        assertThat(tensors.get(0)).isBitwiseEqualTo(expected.input);
        assertThat(tensors.get(1)).isBitwiseEqualTo(expected.output);
    }

    /// What the tensors of a rank contain before and after.
    private record RankTensors(Tensor input, Tensor output) {
        static List<RankTensors> forRanks(int ranks, long count) {
            return IntStream.range(0, ranks)
                    .mapToObj(rank -> new RankTensors(bits(count, rank), bits(count, ~rank)))
                    .toList();
        }

        private static Tensor bits(long count, int seed) {
            return SampleTensors.anyBits(DataType.FLOAT32, Shape.of(count), seed);
        }
    }
}
