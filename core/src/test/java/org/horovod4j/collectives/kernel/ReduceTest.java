package org.horovod4j.collectives.kernel;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.horovod4j.DataType;
import org.horovod4j.ReduceOp;
import org.horovod4j.testsupport.SlowCases;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.MethodSource;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.Random;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.stream.IntStream;

/// Reductions of many sources at once.
class ReduceTest {
    private static final long SEED = 20_250_918;
    private static final int MOST_SOURCES = 9;
    private static final int APART = -1;

    @ParameterizedTest(name = "{0} {1}, seed " + SEED)
    @MethodSource("org.horovod4j.collectives.kernel.KernelVariantsTest#typesAndOps")
    void reducesSourcesInOrderIntoAnyTarget(DataType dataType, ReduceOp op) {
        Random random = new Random(SEED);
        int moreThanOneBlock = KernelScratch.BLOCK_BYTES / dataType.byteSize() + 37;
        for (int count : new int[] {0, 1, 100, moreThanOneBlock}) {
            // Several blocks of some numbers of sources, unless in the slow tests.
            int step = count == moreThanOneBlock && !SlowCases.ENABLED ? 4 : 1;
            for (int sourceCount = 1; sourceCount <= MOST_SOURCES; sourceCount += step) {
                long[][] sources = sources(dataType, sourceCount, count, random);
                long[] expected =
                        RawElements.withCanonicalNaN(
                                dataType, Reference.reduce(dataType, op, sources));
                for (int target = APART; target < sourceCount; target++) {
                    for (Kernels kernels : new Kernels[] {Kernels.scalar(), Kernels.best()}) {
                        long[] found = reduce(kernels, dataType, op, sources, target);
                        assertThat(RawElements.withCanonicalNaN(dataType, found))
                                .as("%d x %d elements into %d", sourceCount, count, target)
                                .isEqualTo(expected);
                    }
                }
            }
        }
    }

    @ParameterizedTest
    @EnumSource(names = {"FLOAT16", "BFLOAT16"})
    void halfSumsRoundOnlyOnce(DataType dataType) {
        // Near 4096 (256) the spacing of float16 (bfloat16) is 4 (2), so a single 1 would be lost.
        double large = dataType == DataType.FLOAT16 ? 4096 : 256;
        long[][] sources = new long[MOST_SOURCES][];
        for (int k = 0; k < MOST_SOURCES; k++) {
            sources[k] = new long[] {RawElements.of(dataType, k == 0 ? large : 1)};
        }
        long[] found = reduce(Kernels.best(), dataType, ReduceOp.SUM, sources, APART);
        assertThat(RawElements.value(dataType, found[0])).isEqualTo(large + MOST_SOURCES - 1);
    }

    @Test
    void threadsMayShareOneInstance() throws Exception {
        Kernels kernels = Kernels.best();
        DataType[] dataTypes = {DataType.FLOAT16, DataType.BFLOAT16, DataType.FLOAT32};
        try (ExecutorService threads = Executors.newFixedThreadPool(4)) {
            Callable<Void> work =
                    () -> {
                        Random random = new Random(SEED);
                        for (DataType dataType : dataTypes) {
                            long[][] sources = sources(dataType, 5, 20_000, random);
                            long[] found = reduce(kernels, dataType, ReduceOp.SUM, sources, APART);
                            assertThat(RawElements.withCanonicalNaN(dataType, found))
                                    .isEqualTo(
                                            RawElements.withCanonicalNaN(
                                                    dataType,
                                                    Reference.reduce(
                                                            dataType, ReduceOp.SUM, sources)));
                        }
                        return null;
                    };
            for (Future<Void> result :
                    threads.invokeAll(IntStream.range(0, 4).mapToObj(_ -> work).toList())) {
                result.get();
            }
        }
    }

    @Test
    void noSourcesIsRejected() {
        assertThatThrownBy(
                        () ->
                                Kernels.best()
                                        .reduce(
                                                DataType.INT32,
                                                ReduceOp.SUM,
                                                MemorySegment.NULL,
                                                0,
                                                new MemorySegment[0],
                                                new long[0],
                                                0,
                                                0))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("at least 1 source");
    }

    private static long[][] sources(DataType dataType, int sourceCount, int count, Random random) {
        long[][] sources = new long[sourceCount][];
        for (int k = 0; k < sourceCount; k++) {
            sources[k] = RawElements.random(dataType, count, random);
        }
        return sources;
    }

    /// Reduces into the source with index `target`, or into separate memory.
    private static long[] reduce(
            Kernels kernels, DataType dataType, ReduceOp op, long[][] sources, int target) {
        int count = sources[0].length;
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment[] segments = new MemorySegment[sources.length];
            long[] offsets = new long[sources.length];
            for (int k = 0; k < sources.length; k++) {
                offsets[k] = k;
                segments[k] = arena.allocate(k + (long) count * dataType.byteSize());
                RawElements.setAll(dataType, segments[k], offsets[k], sources[k]);
            }
            boolean apart = target == APART;
            MemorySegment result =
                    apart ? arena.allocate((long) count * dataType.byteSize()) : segments[target];
            long offset = apart ? 0 : offsets[target];
            kernels.reduce(dataType, op, result, offset, segments, offsets, sources.length, count);
            return RawElements.getAll(dataType, result, offset, count);
        }
    }
}
