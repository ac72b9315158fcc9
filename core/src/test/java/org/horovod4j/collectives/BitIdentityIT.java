package org.horovod4j.collectives;

import static org.assertj.core.api.Assertions.assertThat;

import org.horovod4j.AllreduceOptions;
import org.horovod4j.Communicator;
import org.horovod4j.DataType;
import org.horovod4j.ReduceOp;
import org.horovod4j.Shape;
import org.horovod4j.Tensor;
import org.horovod4j.option.AllreduceChoice;
import org.horovod4j.option.Options;
import org.horovod4j.testing.EveryLayout;
import org.horovod4j.testing.Layout;
import org.horovod4j.testing.SampleTensors;
import org.horovod4j.testing.World;
import org.horovod4j.testing.World.Transport;
import org.horovod4j.testsupport.SlowCases;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import java.util.zip.CRC32C;

/// All ranks end with the same bits, for random inputs whose sums round, overflow and are NaN.
///
/// All NaNs are treated as equal: the processor keeps the first of two NaNs, but the compiler may
/// swap operands, so the payload of a NaN is undefined.
class BitIdentityIT {
    private static final List<DataType> FLOATS =
            List.of(DataType.FLOAT16, DataType.BFLOAT16, DataType.FLOAT32, DataType.FLOAT64);

    /// Bytes below and above each threshold between algorithms. One element is added, so that the
    /// ranks get unequal parts.
    private static final long[] BYTES = {0, 8, 8_064, 8_072, 40_016, 600_048};

    @EveryLayout
    void allRanksEndWithTheSameBits(Layout layout) {
        List<List<Long>> results = layout.world().call(BitIdentityIT::fingerprints);
        assertThat(results).allSatisfy(each -> assertThat(each).isEqualTo(results.getFirst()));
    }

    /// Every algorithm in every layout in the slow tests. Else each algorithm between hosts of one
    /// rank and hosts of several ranks, and one algorithm in the other layouts.
    static Stream<Arguments> algorithms() {
        List<Layout> hosts =
                List.of(new Layout(5, 5, Transport.LOCAL), new Layout(8, 3, Transport.LOCAL));
        List<Layout> others =
                List.of(
                        new Layout(3, 1, Transport.LOCAL),
                        new Layout(4, 2, Transport.SHM),
                        new Layout(6, 1, Transport.TCP));
        return Stream.of(
                        AllreduceChoice.AUTO,
                        AllreduceChoice.RING,
                        AllreduceChoice.HALVING_DOUBLING,
                        AllreduceChoice.TREE,
                        AllreduceChoice.DOUBLING)
                .flatMap(
                        algorithm -> {
                            boolean everywhere =
                                    SlowCases.ENABLED || algorithm == AllreduceChoice.AUTO;
                            return Stream.of(hosts, everywhere ? others : List.<Layout>of())
                                    .flatMap(List::stream)
                                    .map(layout -> Arguments.of(algorithm, layout));
                        });
    }

    @ParameterizedTest(name = "{0}, {1}")
    @MethodSource("algorithms")
    void twoRunsOfAnAlgorithmGiveTheSameBits(AllreduceChoice algorithm, Layout layout) {
        World world = fixed(layout.world(), algorithm);
        List<List<Long>> first = world.call(BitIdentityIT::fingerprints);
        List<List<Long>> second = world.call(BitIdentityIT::fingerprints);
        assertThat(first).allSatisfy(each -> assertThat(each).isEqualTo(first.getFirst()));
        assertThat(second).isEqualTo(first);
    }

    @ParameterizedTest(name = "{0} ranks")
    @ValueSource(ints = {4, 5, 8})
    void algorithmsThatMeasuredCostsChooseBetweenGiveTheSameBits(int size) {
        World world = World.of(size).hosts(size);
        assertThat(fixed(world, AllreduceChoice.DOUBLING).call(BitIdentityIT::fingerprints))
                .isEqualTo(
                        fixed(world, AllreduceChoice.HALVING_DOUBLING)
                                .call(BitIdentityIT::fingerprints));
    }

    /// A hash of the bits of each reduction, including their order.
    private static List<Long> fingerprints(Communicator communicator) {
        List<Long> fingerprints = new ArrayList<>();
        for (DataType type : FLOATS) {
            for (long bytes : BYTES) {
                long count = bytes / type.byteSize() + 1;
                ReduceOp op = bytes % 16 == 0 ? ReduceOp.AVERAGE : ReduceOp.PRODUCT;
                long seed = count * 1_000 + communicator.rank();
                Tensor tensor = SampleTensors.anyBits(type, Shape.of(count), seed);
                communicator.allreduce(
                        "random",
                        tensor,
                        AllreduceOptions.of(op).withPrescale(0.3).withPostscale(1.7));
                fingerprints.add(fingerprint(SampleTensors.withOneNaN(tensor)));
            }
        }
        return fingerprints;
    }

    private static long fingerprint(Tensor tensor) {
        CRC32C checksum = new CRC32C();
        checksum.update(tensor.segment().asByteBuffer());
        return checksum.getValue();
    }

    /// The same world with one algorithm between hosts.
    private static World fixed(World world, AllreduceChoice algorithm) {
        return world.with(
                Map.of(
                        Options.ALLREDUCE_ALGORITHM.variable(),
                        Options.ALLREDUCE_ALGORITHM.format(algorithm)));
    }
}
