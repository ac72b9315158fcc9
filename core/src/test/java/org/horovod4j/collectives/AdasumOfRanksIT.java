package org.horovod4j.collectives;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.horovod4j.DataType;
import org.horovod4j.Scale;
import org.horovod4j.collectives.BackendWorld.Config;
import org.horovod4j.collectives.kernel.Kernels;
import org.horovod4j.spi.CancellableBackend;
import org.horovod4j.spi.FusedTensors;
import org.horovod4j.testing.EveryLayout;
import org.horovod4j.testing.FewLayouts;
import org.horovod4j.testing.Layout;
import org.horovod4j.testing.MultiRankLayouts;
import org.horovod4j.testing.World.Transport;
import org.horovod4j.transport.StampMismatchException;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.SplittableRandom;
import java.util.function.IntFunction;
import java.util.stream.DoubleStream;
import java.util.stream.IntStream;

/// Adasum in all layouts, compared with its definition.
class AdasumOfRanksIT {
    private static final long SEED = 4_7;
    private static final List<DataType> FLOATS =
            List.of(DataType.FLOAT16, DataType.BFLOAT16, DataType.FLOAT32, DataType.FLOAT64);

    /// The tensor values of each rank.
    private record Case(DataType dataType, List<List<double[]>> ranks, Scale scale) {
        /// Random tensors of these sizes.
        static Case random(int ranks, DataType dataType, int... sizes) {
            return each(
                    dataType,
                    ranks,
                    rank -> {
                        SplittableRandom random = new SplittableRandom(SEED * 1_000 + rank);
                        return Arrays.stream(sizes)
                                .mapToObj(size -> random.doubles(size, -1, 2).toArray())
                                .toList();
                    });
        }

        static Case each(DataType dataType, int ranks, IntFunction<List<double[]>> tensors) {
            return new Case(
                    dataType,
                    IntStream.range(0, ranks)
                            .mapToObj(rank -> rounded(dataType, tensors.apply(rank)))
                            .toList(),
                    Scale.NONE);
        }

        private static List<double[]> rounded(DataType dataType, List<double[]> tensors) {
            return tensors.stream()
                    .map(
                            tensor ->
                                    AdasumReference.doubles(
                                            dataType, AdasumReference.segment(dataType, tensor)))
                    .toList();
        }

        Case scaled(Scale other) {
            return new Case(dataType, ranks, other);
        }

        int tensors() {
            return ranks.getFirst().size();
        }

        /// Runs it on one rank.
        ///
        /// @return the results, in Java arrays
        List<MemorySegment> run(int rank, CancellableBackend backend) {
            List<MemorySegment> tensors =
                    ranks.get(rank).stream()
                            .map(values -> AdasumReference.segment(dataType, values))
                            .toList();
            long[] sizes = ranks.getFirst().stream().mapToLong(values -> values.length).toArray();
            FusedTensors fusedTensors = new FusedTensors(dataType, sizes);
            for (int i = 0; i < tensors.size(); i++) {
                fusedTensors.set(i, tensors.get(i), tensors.get(i));
            }
            backend.adasum(SEED, fusedTensors, scale);
            return tensors;
        }

        List<double[]> expected() {
            List<double[]> expected = new ArrayList<>();
            for (int tensor = 0; tensor < tensors(); tensor++) {
                int index = tensor;
                List<double[]> vectors =
                        ranks.stream()
                                .map(each -> times(each.get(index), scale.prescale()))
                                .toList();
                expected.add(times(AdasumReference.combine(dataType, vectors), scale.postscale()));
            }
            return expected;
        }

        private static double[] times(double[] values, double factor) {
            return DoubleStream.of(values).map(value -> value * factor).toArray();
        }
    }

    /// Runs all cases in one world. Compares the results of every rank with the definition, and
    /// their bits with those of rank 0.
    private static List<List<ByteBuffer>> check(Config world, List<Case> cases) {
        List<List<ByteBuffer>> bits = run(world, cases);
        for (List<ByteBuffer> rank : bits) {
            assertThat(rank).isEqualTo(bits.getFirst());
        }
        int at = 0;
        for (Case each : cases) {
            for (double[] expected : each.expected()) {
                isClose(each, bits.getFirst().get(at++), expected);
            }
        }
        return bits;
    }

    /// The results of all cases by rank, as buffers: these are equal if their bytes are.
    private static List<List<ByteBuffer>> run(Config config, List<Case> cases) {
        try (BackendWorld world = config.open()) {
            return world.call(
                    (rank, backend) ->
                            cases.stream()
                                    .flatMap(each -> each.run(rank, backend).stream())
                                    .map(MemorySegment::asByteBuffer)
                                    .toList());
        }
    }

    /// Adjacent ranks share a host.
    private static Config world(Layout layout) {
        return Config.of(layout).withHosts(rank -> rank * layout.hosts() / layout.size());
    }

    private static void isClose(Case each, ByteBuffer bits, double[] expected) {
        double[] found = AdasumReference.doubles(each.dataType, MemorySegment.ofBuffer(bits));
        double largest = DoubleStream.of(expected).map(Math::abs).max().orElse(0);
        double tolerance = largest * AdasumReference.tolerance(each.dataType);
        assertThat(found).as("%s", each.dataType).hasSameSizeAs(expected);
        for (int i = 0; i < found.length; i++) {
            if (!(Math.abs(found[i] - expected[i]) <= tolerance)) {
                throw new AssertionError(
                        "element %d of %d %ss: expected %s but was %s"
                                .formatted(i, found.length, each.dataType, expected[i], found[i]));
            }
        }
    }

    @EveryLayout
    void everyTypeAndSizeGivesWhatTheDefinitionSays(Layout layout) {
        List<Case> cases = new ArrayList<>();
        for (DataType type : FLOATS) {
            for (int size : new int[] {0, 1, 7, 1_009, 20_011}) {
                cases.add(Case.random(layout.size(), type, size));
            }
        }
        check(world(layout), cases);
    }

    @FewLayouts
    void tensorsLargerThanAStageAreCombined(Layout layout) {
        check(
                world(layout),
                List.of(
                        Case.random(layout.size(), DataType.FLOAT64, 500_009),
                        Case.random(layout.size(), DataType.FLOAT32, 700_001, 3)));
    }

    @ParameterizedTest(name = "{0} ranks")
    @ValueSource(ints = {1, 2, 3, 4, 5, 6, 7, 8})
    void anyNumberOfRanks(int size) {
        List<Case> cases =
                List.of(
                        Case.random(size, DataType.FLOAT32, 5),
                        Case.random(size, DataType.FLOAT32, 10_007, 1, 30_011));
        for (int hosts : new int[] {1, Math.ceilDiv(size, 2), size}) {
            check(world(new Layout(size, hosts, Transport.LOCAL)), cases);
        }
    }

    @EveryLayout
    void fusedTensorsAreCombinedSeparately(Layout layout) {
        int[] many = IntStream.range(0, 100).map(i -> i * i % 61).toArray();
        check(
                world(layout),
                List.of(
                        Case.random(layout.size(), DataType.FLOAT32, 3, 0, 5, 1),
                        Case.random(layout.size(), DataType.FLOAT64, many),
                        Case.random(layout.size(), DataType.FLOAT32, 0, 9_001, 2_048, 2_049, 0, 1),
                        Case.random(layout.size(), DataType.FLOAT32, 0, 0)));
    }

    @MultiRankLayouts
    void orthogonalVectorsAreAdded(Layout layout) {
        for (int length : new int[] {layout.size(), 30_011}) {
            Case axes =
                    Case.each(DataType.FLOAT32, layout.size(), rank -> List.of(axis(length, rank)));
            double[] sum = new double[length];
            for (int rank = 0; rank < layout.size(); rank++) {
                sum[place(length, rank)] = rank + 1;
            }
            assertEverywhere(layout, axes, sum);
        }
    }

    private static double[] axis(int length, int rank) {
        double[] axis = new double[length];
        axis[place(length, rank)] = rank + 1;
        return axis;
    }

    private static int place(int length, int rank) {
        return length - 1 - rank;
    }

    @MultiRankLayouts
    void parallelVectorsAreAveragedAtAnyMagnitude(Layout layout) {
        for (double magnitude : new double[] {1, 0x1p100, 0x1p-140}) {
            double[] same = {magnitude, 0, -2 * magnitude};
            assertEverywhere(
                    layout, Case.each(DataType.FLOAT32, layout.size(), _ -> List.of(same)), same);
        }
        for (double magnitude : new double[] {1, 0x1p600, 0x1p-600, 0x1.8p1022, Double.MIN_VALUE}) {
            double[] same = new double[5_003];
            Arrays.fill(same, 1, 4_001, magnitude);
            assertEverywhere(
                    layout, Case.each(DataType.FLOAT64, layout.size(), _ -> List.of(same)), same);
        }
    }

    @MultiRankLayouts
    void zeroesAddNothing(Layout layout) {
        double[] tensor = {1, 2, 3};
        double[] zeroes = new double[3];
        for (DataType type : FLOATS) {
            assertEverywhere(layout, Case.each(type, layout.size(), _ -> List.of(zeroes)), zeroes);
            int last = layout.size() - 1;
            assertEverywhere(
                    layout,
                    Case.each(type, layout.size(), rank -> List.of(rank == last ? tensor : zeroes)),
                    tensor);
        }
    }

    private static void assertEverywhere(Layout layout, Case each, double[] expected) {
        for (List<ByteBuffer> rank : run(world(layout), List.of(each))) {
            assertThat(
                            AdasumReference.doubles(
                                    each.dataType, MemorySegment.ofBuffer(rank.getFirst())))
                    .containsExactly(expected);
        }
    }

    @Test
    void nanAffectsOnlyItsOwnTensor() {
        Case each =
                Case.each(
                        DataType.FLOAT32,
                        3,
                        rank ->
                                List.of(
                                        new double[] {1, 2},
                                        new double[] {rank == 1 ? Float.POSITIVE_INFINITY : 1, 1}));
        for (List<ByteBuffer> rank : run(world(new Layout(3, 1, Transport.LOCAL)), List.of(each))) {
            assertThat(
                            AdasumReference.doubles(
                                    DataType.FLOAT32, MemorySegment.ofBuffer(rank.get(0))))
                    .containsExactly(1, 2);
            assertThat(
                            AdasumReference.doubles(
                                    DataType.FLOAT32, MemorySegment.ofBuffer(rank.get(1))))
                    .containsOnly(Double.NaN);
        }
    }

    @FewLayouts
    void factorsApplyBeforeAndAfter(Layout layout) {
        List<Case> cases = new ArrayList<>();
        for (DataType type : FLOATS) {
            for (int size : new int[] {7, 10_007}) {
                cases.add(Case.random(layout.size(), type, size).scaled(new Scale(0.5, -4)));
            }
        }
        check(world(layout), cases);
    }

    @ParameterizedTest(name = "{0} ranks")
    @ValueSource(ints = {2, 3, 5, 8})
    void bitsDoNotDependOnPlacementOrKernels(int size) {
        List<Case> cases = new ArrayList<>();
        for (DataType type : FLOATS) {
            cases.add(Case.random(size, type, 11, 500));
            cases.add(Case.random(size, type, 40_009, 17, 9_001));
        }
        Config one = world(new Layout(size, 1, Transport.LOCAL));
        List<List<ByteBuffer>> bits = check(one, cases);
        List<Config> others =
                List.of(
                        one,
                        one.withHosts(rank -> rank),
                        one.withHosts(rank -> rank % 2),
                        one.withHosts(rank -> rank == size - 1 ? 1 : 0),
                        one.withKernels(_ -> Kernels.scalar()),
                        one.withKernels(
                                rank -> rank % 2 == 0 ? Kernels.scalar() : Kernels.vector()),
                        world(new Layout(size, 2, Transport.SHM)),
                        world(new Layout(size, 1, Transport.TCP)));
        for (Config other : others) {
            assertThat(run(other, cases)).isEqualTo(bits);
        }
    }

    @MultiRankLayouts
    void stampMismatchLeavesTensorsUnchanged(Layout layout) {
        for (int length : new int[] {3, 30_011}) {
            double[] before = new double[length];
            Arrays.fill(before, 1.5);
            MemorySegment[] tensors =
                    IntStream.range(0, layout.size())
                            .mapToObj(_ -> AdasumReference.segment(DataType.FLOAT32, before))
                            .toArray(MemorySegment[]::new);
            try (BackendWorld world = world(layout).open()) {
                assertThatThrownBy(
                                () ->
                                        world.run(
                                                (rank, backend) ->
                                                        backend.adasum(
                                                                rank == layout.size() - 1 ? 1 : 2,
                                                                fusedTensors(tensors[rank]),
                                                                Scale.NONE)))
                        .hasCauseInstanceOf(StampMismatchException.class);
            }
            for (MemorySegment tensor : tensors) {
                assertThat(AdasumReference.doubles(DataType.FLOAT32, tensor))
                        .containsExactly(before);
            }
        }
    }

    private static FusedTensors fusedTensors(MemorySegment tensor) {
        FusedTensors fusedTensors =
                new FusedTensors(DataType.FLOAT32, tensor.byteSize() / Float.BYTES);
        fusedTensors.set(0, tensor, tensor);
        return fusedTensors;
    }

    @Test
    void integersAreRejected() {
        BackendWorld.run(
                new Layout(1, 1, Transport.LOCAL),
                (_, backend) ->
                        assertThatThrownBy(
                                        () ->
                                                backend.adasum(
                                                        1,
                                                        new FusedTensors(DataType.INT32, 1),
                                                        Scale.NONE))
                                .isInstanceOf(IllegalArgumentException.class)
                                .hasMessageContaining("int32")
                                .hasMessageContaining("convert"));
    }
}
