package org.horovod4j.djl;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDManager;
import ai.djl.training.dataset.ArrayDataset;
import ai.djl.training.dataset.Batch;
import ai.djl.training.dataset.RandomAccessDataset;

import org.horovod4j.Communicator;
import org.horovod4j.data.LastBatch;
import org.horovod4j.data.Sampling;
import org.horovod4j.data.Shard;
import org.horovod4j.testing.World;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.stream.IntStream;

class ShardedSamplerTest {
    private static final NDManager MANAGER = NDManager.newBaseManager("PyTorch");

    @AfterAll
    static void close() {
        MANAGER.close();
    }

    /// The arithmetic is that of [Shard], which has its own tests.
    @ParameterizedTest
    @EnumSource(LastBatch.class)
    void samplesAreThoseOfTheShard(LastBatch lastBatch) {
        RandomAccessDataset data = data(23);
        World.run(
                3,
                comm -> {
                    ShardedSampler sampler =
                            ShardedSampler.batches(4)
                                    .seed(9)
                                    .lastBatch(lastBatch)
                                    .communicator(comm)
                                    .build();
                    Shard shard = Sampling.shuffled(9).withLastBatch(lastBatch).shard(23, 4, comm);
                    assertThat(sampler.stepsPerEpoch(23)).isEqualTo(shard.stepsPerEpoch());
                    for (int epoch = 0; epoch < 2; epoch++) {
                        List<List<Long>> expected = new ArrayList<>();
                        for (int[] batch : shard.batches(epoch)) {
                            expected.add(Arrays.stream(batch).asLongStream().boxed().toList());
                        }
                        assertThat(epoch(sampler, data)).isEqualTo(expected);
                    }
                });
    }

    @Test
    void epochCanBeSet() {
        RandomAccessDataset data = data(50);
        World.run(
                1,
                comm -> {
                    ShardedSampler sampler = sampler(50, comm);
                    List<List<Long>> first = epoch(sampler, data);
                    List<List<Long>> second = epoch(sampler, data);
                    assertThat(second).isNotEqualTo(first);
                    assertThat(sampler.epoch()).isEqualTo(2);
                    ShardedSampler resumed = sampler(50, comm);
                    resumed.setEpoch(1);
                    assertThat(epoch(resumed, data)).isEqualTo(second);
                });
    }

    @Test
    void withoutShuffleKeepsDataOrder() {
        RandomAccessDataset data = data(10);
        World.run(
                2,
                comm -> {
                    ShardedSampler sampler =
                            ShardedSampler.batches(3).inOrder().communicator(comm).build();
                    long first = comm.rank();
                    assertThat(sampler.sample(data).next())
                            .containsExactly(first, first + 2, first + 4);
                });
    }

    @ParameterizedTest(name = "{0} threads")
    @ValueSource(ints = {0, 3})
    void worksWithAnyNumberOfDjlThreads(int threads) {
        World.run(
                1,
                comm -> {
                    ArrayDataset data =
                            new ArrayDataset.Builder()
                                    .setData(MANAGER.arange(11f).reshape(11, 1))
                                    .optLabels(MANAGER.arange(11f).reshape(11, 1))
                                    .setSampling(sampler(4, comm))
                                    .optPrefetchNumber(2)
                                    .build();
                    try (ExecutorService executor =
                            threads == 0 ? null : Executors.newFixedThreadPool(threads)) {
                        for (int epoch = 0; epoch < 3; epoch++) {
                            assertThat(values(data, executor)).hasSize(11).doesNotHaveDuplicates();
                        }
                    }
                });
    }

    private static List<Float> values(ArrayDataset data, @Nullable ExecutorService executor)
            throws Exception {
        List<Float> seen = new ArrayList<>();
        for (Batch batch : data.getData(MANAGER, executor)) {
            NDArray values = batch.getData().head();
            for (float value : values.toFloatArray()) {
                seen.add(value);
            }
            batch.close();
        }
        return seen;
    }

    @Test
    void invalidSettingsAreRejected() {
        assertThatIllegalArgumentException().isThrownBy(() -> ShardedSampler.batches(0));
        World.run(
                1,
                comm -> {
                    ShardedSampler sampler = sampler(2, comm);
                    assertThatIllegalArgumentException().isThrownBy(() -> sampler.setEpoch(-1));
                    assertThatIllegalArgumentException()
                            .isThrownBy(() -> sampler.stepsPerEpoch(0))
                            .withMessageContaining("empty");
                });
    }

    @Test
    void closedCommunicatorIsRejected() {
        Communicator closed = World.of(1).call(comm -> comm).getFirst();
        ShardedSampler sampler = sampler(4, closed);
        assertThatIllegalStateException()
                .isThrownBy(() -> sampler.stepsPerEpoch(8))
                .withMessageContaining("the communicator given to this object is closed");
    }

    private static ShardedSampler sampler(int batchSize, Communicator comm) {
        return ShardedSampler.batches(batchSize).communicator(comm).build();
    }

    private static List<List<Long>> epoch(ShardedSampler sampler, RandomAccessDataset data) {
        List<List<Long>> batches = new ArrayList<>();
        sampler.sample(data).forEachRemaining(batches::add);
        return batches;
    }

    /// The samples 0, 1, 2, ….
    private static RandomAccessDataset data(int length) {
        float[] values = new float[length];
        IntStream.range(0, length).forEach(i -> values[i] = i);
        return new ArrayDataset.Builder()
                .setData(MANAGER.create(values))
                .setSampling(1, false)
                .build();
    }
}
