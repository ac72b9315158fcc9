package org.horovod4j.djl;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDManager;
import ai.djl.training.dataset.ArrayDataset;
import ai.djl.training.dataset.Batch;
import ai.djl.training.dataset.RandomAccessDataset;

import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.stream.IntStream;

class ShardedSamplerTest {
    private static final int[] DATA_SIZES = {1, 2, 3, 5, 7, 8, 13, 31, 64, 101, 997};
    private static final int[] BATCH_SIZES = {1, 2, 3, 4, 7, 32, 1000};
    private static final NDManager MANAGER = NDManager.newBaseManager("PyTorch");

    @AfterAll
    static void close() {
        MANAGER.close();
    }

    @ParameterizedTest
    @EnumSource(Tail.class)
    void epochCoversSamplesAccordingToPolicy(Tail tail) {
        for (int size = 1; size <= 7; size++) {
            for (int samples : DATA_SIZES) {
                for (int batchSize : BATCH_SIZES) {
                    if (isEnough(samples, size, batchSize, tail)) {
                        check(samples, size, batchSize, tail);
                    } else {
                        assertRejected(samples, size, batchSize, tail);
                    }
                }
            }
        }
    }

    private static boolean isEnough(int samples, int size, int batchSize, Tail tail) {
        return switch (tail) {
            case KEEP -> samples >= size;
            case PAD, UNEVEN -> true;
            case DROP -> samples >= size * batchSize;
        };
    }

    private static void check(int samples, int size, int batchSize, Tail tail) {
        String told = "%d samples, %d ranks, batches of %d".formatted(samples, size, batchSize);
        RandomAccessDataset data = data(samples);
        List<List<List<Long>>> byRank = new ArrayList<>();
        for (int rank = 0; rank < size; rank++) {
            ShardedSampler sampler =
                    ShardedSampler.batches(batchSize).seed(4).tail(tail).build(rank, size);
            List<List<Long>> batches = new ArrayList<>();
            sampler.sample(data).forEachRemaining(batches::add);
            assertThat(batches).as(told).hasSize(sampler.stepsPerEpoch(samples));
            assertThat(batches).as(told).noneMatch(List::isEmpty);
            assertThat(batches).as(told).allMatch(batch -> batch.size() <= batchSize);
            byRank.add(batches);
        }
        List<Long> seen = byRank.stream().flatMap(List::stream).flatMap(List::stream).toList();
        List<Integer> steps = byRank.stream().map(List::size).toList();
        int missing = samples - new HashSet<>(seen).size();
        int twice = seen.size() - new HashSet<>(seen).size();
        assertThat(seen).as(told).allMatch(index -> index >= 0 && index < samples);
        switch (tail) {
            case KEEP -> {
                assertThat(new HashSet<>(steps)).as(told).hasSize(1);
                assertThat(twice).as(told).isZero();
                boolean lonelyBatch = samples / size % batchSize == 0;
                assertThat(missing).as(told).isEqualTo(lonelyBatch ? samples % size : 0);
            }
            case DROP -> {
                assertThat(byRank)
                        .as(told)
                        .allSatisfy(
                                batches ->
                                        assertThat(batches)
                                                .allMatch(batch -> batch.size() == batchSize));
                assertThat(new HashSet<>(steps)).as(told).hasSize(1);
                assertThat(twice).as(told).isZero();
                assertThat(missing).as(told).isEqualTo(samples % (size * batchSize));
            }
            case PAD -> {
                assertThat(new HashSet<>(steps)).as(told).hasSize(1);
                assertThat(sizes(byRank.getFirst())).as(told).isEqualTo(sizes(byRank.getLast()));
                assertThat(missing).as(told).isZero();
                assertThat(twice)
                        .as(told)
                        .isEqualTo(-samples % size + (samples % size == 0 ? 0 : size));
            }
            case UNEVEN -> {
                assertThat(missing).as(told).isZero();
                assertThat(twice).as(told).isZero();
                assertThat(steps.getFirst() - steps.getLast()).as(told).isBetween(0, 1);
            }
        }
    }

    private static List<Integer> sizes(List<List<Long>> batches) {
        return batches.stream().map(List::size).toList();
    }

    private static void assertRejected(int samples, int size, int batchSize, Tail tail) {
        ShardedSampler last = ShardedSampler.batches(batchSize).tail(tail).build(size - 1, size);
        assertThatIllegalArgumentException()
                .isThrownBy(() -> last.sample(data(samples)))
                .withMessageContaining(samples + " samples")
                .withMessageContaining(size + " ranks")
                .withMessageContaining("Use ");
    }

    @Test
    void batchesOfAllRanksEqualBatchOfOneProcess() {
        RandomAccessDataset data = data(40);
        List<Long> one = ShardedSampler.batches(8).build(0, 1).sample(data).next();
        List<Long> first = ShardedSampler.batches(4).build(0, 2).sample(data).next();
        List<Long> second = ShardedSampler.batches(4).build(1, 2).sample(data).next();
        List<Long> two = new ArrayList<>(first);
        two.addAll(second);
        assertThat(two).containsExactlyInAnyOrderElementsOf(one);
    }

    @Test
    void orderDependsOnSeedAndEpochOnly() {
        RandomAccessDataset data = data(50);
        ShardedSampler sampler = ShardedSampler.batches(50).seed(9).build(0, 1);
        List<Long> first = sampler.sample(data).next();
        List<Long> second = sampler.sample(data).next();
        assertThat(second).isNotEqualTo(first).containsExactlyInAnyOrderElementsOf(first);
        assertThat(sampler.epoch()).isEqualTo(2);

        ShardedSampler resumed = ShardedSampler.batches(50).seed(9).build(0, 1);
        resumed.setEpoch(1);
        assertThat(resumed.sample(data).next()).isEqualTo(second);
        ShardedSampler other = ShardedSampler.batches(50).seed(10).build(0, 1);
        assertThat(other.sample(data).next()).isNotEqualTo(first);
    }

    @Test
    void withoutShuffleKeepsDataOrder() {
        ShardedSampler sampler = ShardedSampler.batches(3).inOrder().build(1, 2);
        assertThat(sampler.sample(data(10)).next()).containsExactly(1L, 3L, 5L);
    }

    @ParameterizedTest(name = "{0} threads")
    @ValueSource(ints = {0, 3})
    void worksWithAnyNumberOfDjlThreads(int threads) throws Exception {
        ArrayDataset data =
                new ArrayDataset.Builder()
                        .setData(MANAGER.arange(23f).reshape(23, 1))
                        .optLabels(MANAGER.arange(23f).reshape(23, 1))
                        .setSampling(ShardedSampler.batches(4).build(1, 2))
                        .optPrefetchNumber(2)
                        .build();
        try (ExecutorService executor =
                threads == 0 ? null : Executors.newFixedThreadPool(threads)) {
            for (int epoch = 0; epoch < 3; epoch++) {
                List<Float> seen = new ArrayList<>();
                for (Batch batch : data.getData(MANAGER, executor)) {
                    NDArray values = batch.getData().head();
                    for (float value : values.toFloatArray()) {
                        seen.add(value);
                    }
                    batch.close();
                }
                assertThat(seen).hasSize(11).doesNotHaveDuplicates();
            }
        }
    }

    @Test
    void invalidSettingsAreRejected() {
        assertThatIllegalArgumentException().isThrownBy(() -> ShardedSampler.batches(0));
        ShardedSampler sampler = ShardedSampler.batches(2).build(0, 2);
        assertThatIllegalArgumentException().isThrownBy(() -> sampler.setEpoch(-1));
        assertThatIllegalArgumentException()
                .isThrownBy(() -> sampler.stepsPerEpoch(0))
                .withMessageContaining("empty");
    }

    /// The samples 0, 1, 2, ….
    private static RandomAccessDataset data(long samples) {
        int length = Math.toIntExact(samples);
        float[] values = new float[length];
        IntStream.range(0, length).forEach(i -> values[i] = i);
        return new ArrayDataset.Builder()
                .setData(MANAGER.create(values))
                .setSampling(1, false)
                .build();
    }
}
