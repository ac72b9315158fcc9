package org.horovod4j.collectives;

import static org.assertj.core.api.Assertions.assertThat;
import static org.horovod4j.testing.TensorAssert.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import org.horovod4j.DataType;
import org.horovod4j.ReduceOp;
import org.horovod4j.Scale;
import org.horovod4j.Shape;
import org.horovod4j.Tensor;
import org.horovod4j.collectives.BackendWorld.Config;
import org.horovod4j.collectives.FusionCase.Memory;
import org.horovod4j.natives.StreamingStores;
import org.horovod4j.option.AllreduceChoice;
import org.horovod4j.option.StreamingStoresChoice;
import org.horovod4j.spi.CancellableBackend;
import org.horovod4j.spi.FusedTensors;
import org.horovod4j.spi.Tuning;
import org.horovod4j.testing.EveryLayout;
import org.horovod4j.testing.FewLayouts;
import org.horovod4j.testing.Layout;
import org.horovod4j.testing.ReferenceCollectives;
import org.horovod4j.testing.SampleTensors;
import org.horovod4j.testing.World.Transport;
import org.horovod4j.testsupport.SlowCases;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.function.IntUnaryOperator;
import java.util.stream.IntStream;

/// Several tensors in one operation give the same results as separate operations.
class FusedCollectivesIT {
    /// Many rounds of [Tuning#MIN_ROUND_BYTES].
    private static final long MOST_BYTES = SlowCases.ENABLED ? 3 << 20 : 1 << 18;

    /// Cases with different numbers of tensors, small and large, for notices, stages and links.
    private static List<FusionCase> cases(int ranks) {
        List<FusionCase> cases = new ArrayList<>();
        cases.add(sums(ranks, DataType.FLOAT32, List.of(Shape.of(10_007))));
        cases.add(sums(ranks, DataType.BFLOAT16, List.of(Shape.of(3), Shape.of(0), Shape.of(5))));
        cases.add(
                sums(
                        ranks,
                        DataType.FLOAT32,
                        List.of(Shape.of(1), Shape.of(70_001), Shape.of(33_333))));
        cases.add(sums(ranks, DataType.INT32, List.of(Shape.of(0), Shape.of(0))));
        cases.add(sums(ranks, DataType.FLOAT64, FusionCase.shapes(1_000, 57)));
        return cases;
    }

    private static FusionCase sums(int ranks, DataType type, List<Shape> shapes) {
        return FusionCase.of(ranks, type, shapes, ReduceOp.SUM, Scale.NONE);
    }

    @EveryLayout
    void tensorsInAnyMemoryAreReducedTogether(Layout layout) {
        List<FusionCase> cases = cases(layout.size());
        BackendWorld.run(
                layout,
                (rank, backend) -> {
                    long stamp = 1;
                    for (FusionCase tensors : cases) {
                        tensors.allreduce(stamp++, rank, backend, Memory.MIXED);
                        tensors.allreduce(stamp++, rank, backend, Memory.SHARED);
                        tensors.allreduceOutOfPlace(stamp++, rank, backend, Memory.NATIVE);
                    }
                });
    }

    @EveryLayout
    void tensorsAreReducedAndScatteredTogether(Layout layout) {
        List<FusionCase> cases = cases(layout.size());
        BackendWorld.run(
                layout,
                (rank, backend) -> {
                    long stamp = 1;
                    for (FusionCase tensors : cases) {
                        tensors.reducescatter(stamp++, rank, backend, Memory.MIXED);
                    }
                });
    }

    @FewLayouts
    void everyTypeOpAndFactorAppliesToEachTensor(Layout layout) {
        List<FusionCase> cases = new ArrayList<>();
        List<Shape> shapes = List.of(Shape.of(2_003), Shape.of(7), Shape.of(1_001));
        for (DataType type : DataType.values()) {
            for (ReduceOp op : List.of(ReduceOp.SUM, ReduceOp.PRODUCT, ReduceOp.MAX)) {
                cases.add(FusionCase.of(layout.size(), type, shapes, op, Scale.NONE));
            }
        }
        Scale scale = new Scale(0.5, 4);
        cases.add(FusionCase.of(layout.size(), DataType.INT32, shapes, ReduceOp.SUM, scale));
        cases.add(FusionCase.of(layout.size(), DataType.FLOAT32, shapes, ReduceOp.SUM, scale));
        BackendWorld.run(
                layout,
                (rank, backend) -> {
                    long stamp = 1;
                    for (FusionCase tensors : cases) {
                        tensors.allreduce(stamp++, rank, backend, Memory.SHARED);
                        tensors.allreduce(stamp++, rank, backend, Memory.HEAP);
                    }
                });
    }

    @FewLayouts
    void anAverageDividesByTheDivisorGiven(Layout layout) {
        BackendWorld.run(
                layout,
                (rank, backend) -> {
                    long stamp = 1;
                    for (int length : new int[] {1, 5_000, 200_000}) {
                        for (Memory memory : List.of(Memory.HEAP, Memory.SHARED)) {
                            int[] values = new int[length];
                            Arrays.fill(values, 12);
                            Tensor tensor =
                                    memory.copies(List.of(Tensor.of(values)), backend, rank)
                                            .getFirst();
                            FusedTensors fusedTensors = new FusedTensors(DataType.INT32, length);
                            FusionCase.set(fusedTensors, List.of(tensor), List.of(tensor));
                            backend.allreduce(
                                    stamp++, fusedTensors, ReduceOp.AVERAGE, Scale.NONE, 3);
                            assertThat(tensor.toIntArray()).containsOnly(4 * layout.size());
                        }
                    }
                });
    }

    @EveryLayout
    void rowsOfSeveralTensorsAreGatheredTogether(Layout layout) {
        int ranks = layout.size();
        List<List<List<Tensor>>> cases =
                List.of(
                        rows(ranks, 1, 7, 3),
                        rows(ranks, 3, 5, 0),
                        rows(ranks, 3, 30_011, 2),
                        rows(ranks, 1_000, 9, 3),
                        rows(ranks, 2_500, 2, 1));
        BackendWorld.run(
                layout,
                (rank, backend) -> {
                    long stamp = 1;
                    for (List<List<Tensor>> tensors : cases) {
                        List<Tensor> own = tensors.stream().map(each -> each.get(rank)).toList();
                        List<Tensor> mine = Memory.MIXED.copies(own, backend, rank);
                        List<Tensor> gathered = backend.allgather(stamp++, mine);
                        assertThat(gathered).hasSameSizeAs(tensors);
                        for (int i = 0; i < tensors.size(); i++) {
                            assertThat(gathered.get(i))
                                    .isBitwiseEqualTo(
                                            ReferenceCollectives.allgather(tensors.get(i)));
                        }
                    }
                });
    }

    /// Tensors of different types and row counts, by tensor and then by rank.
    private static List<List<Tensor>> rows(int ranks, int count, long rows, long rowElements) {
        DataType[] types = DataType.values();
        return IntStream.range(0, count)
                .mapToObj(
                        i ->
                                IntStream.range(0, ranks)
                                        .mapToObj(
                                                rank ->
                                                        SampleTensors.of(
                                                                types[i % types.length],
                                                                Shape.of(
                                                                        (rows + (long) i * rank)
                                                                                % (rows + 1),
                                                                        rowElements),
                                                                ReduceOp.SUM,
                                                                i * 100L + rank))
                                        .toList())
                .toList();
    }

    @ParameterizedTest
    @ValueSource(longs = {Tuning.MIN_ROUND_BYTES, 100_000, Tuning.MAX_ROUND_BYTES})
    void resultDoesNotDependOnRoundBytes(long roundBytes) {
        FusionCase tensors =
                sums(3, DataType.FLOAT32, List.of(Shape.of(300_007), Shape.of(5), Shape.of(9_001)));
        BackendWorld.run(
                new Layout(3, 1, Transport.LOCAL),
                (rank, backend) -> {
                    tensors.allreduce(1, rank, backend, Memory.HEAP);
                    backend.tune(Tuning.DEFAULT.withRoundBytes(roundBytes));
                    tensors.allreduce(2, rank, backend, Memory.HEAP);
                    tensors.allreduce(3, rank, backend, Memory.SHARED);
                });
    }

    /// Ranks of a host may have different numbers of helpers.
    @ParameterizedTest
    @ValueSource(ints = {1, 2, 4})
    void resultDoesNotDependOnHelperThreads(int hosts) {
        FusionCase tensors =
                sums(4, DataType.FLOAT32, List.of(Shape.of(900_007), Shape.of(5), Shape.of(9_001)));
        for (IntUnaryOperator helpers : List.<IntUnaryOperator>of(_ -> 3, rank -> 5 * rank % 3)) {
            Config config = Config.of(new Layout(4, hosts, Transport.LOCAL)).withHelpers(helpers);
            try (BackendWorld world = config.open()) {
                world.run(
                        (rank, backend) -> {
                            tensors.allreduce(1, rank, backend, Memory.HEAP);
                            tensors.allreduce(2, rank, backend, Memory.SHARED);
                            tensors.allreduce(3, rank, backend, Memory.NATIVE);
                        });
            }
        }
    }

    /// A round of [org.horovod4j.collectives.algorithm.OwnPartAllreduce] is twice as large as others.
    @ParameterizedTest(name = "{0} ranks, streaming stores {1}: {2} rounds")
    @CsvSource({
        "2, AUTO, 4", "4, AUTO, 4", "5, AUTO, 8", // the first operation is no trial
        "2, ALWAYS, 4", "4, ALWAYS, 4", "5, ALWAYS, 4",
        "2, NEVER, 4", "4, NEVER, 4", "5, NEVER, 8"
    })
    void fewRanksAndStreamingStoresUseLargerRounds(
            int ranks, StreamingStoresChoice choice, long rounds) {
        assumeTrue(choice != StreamingStoresChoice.ALWAYS || StreamingStores.isAvailable());
        FusionCase tensor = sums(ranks, DataType.FLOAT32, List.of(Shape.of(1 << 18)));
        Config config = Config.of(new Layout(ranks, 1, Transport.LOCAL));
        try (BackendWorld world = config.withStreamingStores(choice).open()) {
            world.run((rank, backend) -> tensor.allreduce(1, rank, backend, Memory.HEAP));
            assertThat(world.packs(1)).isEqualTo(rounds);
        }
    }

    /// Also for many small tensors, tensors that do not end at a cache line, stages that are used several
    /// times, and a last round with fewer elements than ranks.
    @ParameterizedTest(name = "{0} ranks, streaming stores {1}")
    @CsvSource({"2, ALWAYS", "3, ALWAYS", "5, ALWAYS", "2, NEVER", "3, NEVER", "4, NEVER"})
    void largeTensorsInAnyMemoryAreReduced(int ranks, StreamingStoresChoice choice) {
        List<FusionCase> cases = new ArrayList<>(cases(ranks));
        for (DataType type : List.of(DataType.FLOAT16, DataType.INT8, DataType.FLOAT64)) {
            cases.add(sums(ranks, type, List.of(Shape.of(77_777), Shape.of(3), Shape.of(9_999))));
        }
        Scale postscale = new Scale(1, 0.5);
        cases.add(sums(ranks, DataType.FLOAT32, List.of(Shape.of(65_538))));
        cases.add(sums(ranks, DataType.FLOAT32, List.of(Shape.of(700_001), Shape.of(5))));
        cases.add(average(ranks, Scale.NONE));
        cases.add(average(ranks, postscale));
        cases.add(average(ranks, new Scale(4, 0.5)));
        Config config = Config.of(new Layout(ranks, 1, Transport.LOCAL));
        try (BackendWorld world = config.withStreamingStores(choice).open()) {
            world.run(
                    (rank, backend) -> {
                        long stamp = 1;
                        for (FusionCase tensors : cases) {
                            for (Memory memory : Memory.values()) {
                                tensors.allreduce(stamp++, rank, backend, memory);
                                tensors.allreduceOutOfPlace(stamp++, rank, backend, memory);
                            }
                        }
                    });
        }
    }

    private static FusionCase average(int ranks, Scale scale) {
        return FusionCase.of(
                ranks,
                DataType.FLOAT32,
                List.of(Shape.of(33_333), Shape.of(70_001)),
                ReduceOp.AVERAGE,
                scale);
    }

    /// Random bits, whose sums round, so that another order of additions would show. `StagedAllreduce` runs
    /// with five ranks and `NEVER`, and with helper threads.
    @ParameterizedTest
    @ValueSource(ints = {4, 5})
    void methodOfCopyingKeepsBits(int ranks) {
        Config config = Config.of(new Layout(ranks, 1, Transport.LOCAL));
        List<Config> methods = new ArrayList<>();
        for (StreamingStoresChoice choice : StreamingStoresChoice.values()) {
            methods.add(config.withStreamingStores(choice));
        }
        methods.add(config.withHelpers(_ -> 1));
        List<List<Long>> results = new ArrayList<>();
        for (Config method : methods) {
            try (BackendWorld world = method.open()) {
                results.add(world.call(FusedCollectivesIT::fingerprint));
            }
        }
        assertThat(results).containsOnly(results.getFirst());
        assertThat(results.getFirst()).containsOnly(results.getFirst().getFirst());
    }

    private static long fingerprint(int rank, CancellableBackend backend) {
        long bits = 0;
        for (int i = 1; i <= 40; i++) { // more than it takes to try both ways
            float[] values = new float[150_000];
            Random random = new Random(100L * i + rank);
            for (int k = 0; k < values.length; k++) {
                values[k] = random.nextFloat();
            }
            MemorySegment array = MemorySegment.ofArray(values);
            try (Arena arena = Arena.ofShared()) {
                MemorySegment memory =
                        i % 2 == 0 ? array : arena.allocate(array.byteSize()).copyFrom(array);
                backend.allreduce(
                        i, slices(memory, i % 3 == 0 ? 600 : 1), ReduceOp.SUM, Scale.NONE, 4);
                bits = 31 * bits + Arrays.hashCode(memory.toArray(ValueLayout.JAVA_FLOAT));
            }
        }
        return bits;
    }

    /// Divides `memory` into tensors of the same size.
    private static FusedTensors slices(MemorySegment memory, int count) {
        long byteSize = memory.byteSize() / count;
        long[] elementCounts = new long[count];
        Arrays.fill(elementCounts, byteSize / Float.BYTES);
        FusedTensors tensors = new FusedTensors(DataType.FLOAT32, elementCounts);
        for (int i = 0; i < count; i++) {
            MemorySegment slice = memory.asSlice(i * byteSize, byteSize);
            tensors.set(i, slice, slice);
        }
        return tensors;
    }

    @ParameterizedTest
    @EnumSource(AllreduceChoice.class)
    void fusionUpToReproducibleBytesKeepsBits(AllreduceChoice choice) {
        for (Layout layout :
                List.of(
                        new Layout(3, 1, Transport.LOCAL),
                        new Layout(4, 2, Transport.LOCAL),
                        new Layout(4, 4, Transport.LOCAL),
                        new Layout(7, 3, Transport.LOCAL),
                        new Layout(10, 5, Transport.LOCAL))) {
            try (BackendWorld world = Config.of(layout).withAllreduce(choice).open()) {
                world.run(FusedCollectivesIT::comparesFusedWithSingle);
                world.run(
                        (rank, backend) -> {
                            backend.tune(
                                    Tuning.DEFAULT
                                            .withRoundBytes(Tuning.MIN_ROUND_BYTES)
                                            .withRingBytes(90_000));
                            comparesFusedWithSingle(rank, backend);
                        });
            }
        }
    }

    /// Reduces tensors of random bits separately and fused with as many others as allowed.
    private static void comparesFusedWithSingle(int rank, CancellableBackend backend) {
        for (DataType type : List.of(DataType.FLOAT32, DataType.FLOAT16)) {
            long limit = Math.min(backend.reproducibleFusionBytes(), MOST_BYTES) / type.byteSize();
            List<Long> counts = new ArrayList<>();
            long sum = 0;
            for (long count = 3; sum + count < limit; count = count * 3 + 1) {
                counts.add(count);
                sum += count;
            }
            counts.add(limit - sum);
            List<Tensor> alone = new ArrayList<>();
            List<Tensor> together = new ArrayList<>();
            for (int i = 0; i < counts.size(); i++) {
                Tensor bits = SampleTensors.anyBits(type, Shape.of(counts.get(i)), i * 50L + rank);
                alone.add(bits);
                together.add(SampleTensors.copy(bits));
            }
            for (int i = 0; i < counts.size(); i++) {
                FusedTensors single = new FusedTensors(type, counts.get(i));
                FusionCase.set(single, alone.subList(i, i + 1), alone.subList(i, i + 1));
                backend.allreduce(i, single, ReduceOp.AVERAGE, Scale.NONE, 3);
            }
            FusedTensors all =
                    new FusedTensors(type, counts.stream().mapToLong(each -> each).toArray());
            FusionCase.set(all, together, together);
            backend.allreduce(99, all, ReduceOp.AVERAGE, Scale.NONE, 3);
            for (int i = 0; i < counts.size(); i++) {
                assertThat(SampleTensors.withOneNaN(together.get(i)))
                        .isBitwiseEqualTo(SampleTensors.withOneNaN(alone.get(i)));
            }
        }
    }

    @Test
    void reproducibleFusionIsUnlimitedWithoutCrossHostRing() {
        assertThat(reproducibleFusionBytes(new Layout(1, 1, Transport.LOCAL), AllreduceChoice.AUTO))
                .isEqualTo(Long.MAX_VALUE);
        assertThat(reproducibleFusionBytes(new Layout(4, 1, Transport.LOCAL), AllreduceChoice.RING))
                .isEqualTo(Long.MAX_VALUE);
        assertThat(reproducibleFusionBytes(new Layout(6, 2, Transport.LOCAL), AllreduceChoice.RING))
                .isEqualTo(Long.MAX_VALUE);
        assertThat(reproducibleFusionBytes(new Layout(3, 3, Transport.LOCAL), AllreduceChoice.TREE))
                .isEqualTo(Long.MAX_VALUE);
    }

    @Test
    void reproducibleFusionEndsWhereARingBegins() {
        assertThat(reproducibleFusionBytes(new Layout(3, 3, Transport.LOCAL), AllreduceChoice.RING))
                .isZero();
        assertThat(reproducibleFusionBytes(new Layout(4, 4, Transport.LOCAL), AllreduceChoice.AUTO))
                .isBetween(100_000L, 1_000_000L);
    }

    private static long reproducibleFusionBytes(Layout layout, AllreduceChoice choice) {
        try (BackendWorld world = Config.of(layout).withAllreduce(choice).open()) {
            return world.call((_, backend) -> backend.reproducibleFusionBytes()).getFirst();
        }
    }
}
