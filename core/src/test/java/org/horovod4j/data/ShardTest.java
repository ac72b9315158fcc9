package org.horovod4j.data;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import org.horovod4j.ReduceOp;
import org.horovod4j.Tensor;
import org.horovod4j.testing.World;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;

final class ShardTest {
    private static final int[] DATA_SIZES = {1, 2, 3, 5, 7, 8, 13, 31, 64, 101, 997};
    private static final int[] BATCH_SIZES = {1, 2, 3, 4, 7, 32, 1000};

    @ParameterizedTest
    @EnumSource(LastBatch.class)
    void epochCoversSamplesAsLastBatchSays(LastBatch lastBatch) {
        for (int size = 1; size <= 7; size++) {
            for (int samples : DATA_SIZES) {
                for (int batchSize : BATCH_SIZES) {
                    if (isEnough(samples, size, batchSize, lastBatch)) {
                        check(samples, size, batchSize, lastBatch);
                    } else {
                        assertRejected(samples, size, batchSize, lastBatch);
                    }
                }
            }
        }
    }

    private static boolean isEnough(int samples, int size, int batchSize, LastBatch lastBatch) {
        return switch (lastBatch) {
            case KEEP -> samples >= size;
            case PAD, UNEVEN -> true;
            case DROP -> samples >= size * batchSize;
        };
    }

    private static void check(int samples, int size, int batchSize, LastBatch lastBatch) {
        String text = "%d samples, %d ranks, batches of %d".formatted(samples, size, batchSize);
        Sampling sampling = Sampling.shuffled(4).withLastBatch(lastBatch);
        List<List<int[]>> byRank = new ArrayList<>();
        for (int rank = 0; rank < size; rank++) {
            Shard shard = new Shard(samples, batchSize, sampling, rank, size);
            List<int[]> batches = batches(shard, 0);
            assertThat(batches).as(text).hasSize(shard.stepsPerEpoch());
            assertThat(batches).as(text).allMatch(batch -> batch.length > 0);
            assertThat(batches).as(text).allMatch(batch -> batch.length <= batchSize);
            assertThat(flat(batches)).as(text).hasSize(shard.samplesPerEpoch());
            byRank.add(batches);
        }
        List<Integer> seen = byRank.stream().flatMap(rank -> flat(rank).stream()).toList();
        List<Integer> steps = byRank.stream().map(List::size).toList();
        int missing = samples - new HashSet<>(seen).size();
        int twice = seen.size() - new HashSet<>(seen).size();
        assertThat(seen).as(text).allMatch(index -> index >= 0 && index < samples);
        switch (lastBatch) {
            case KEEP -> {
                assertThat(new HashSet<>(steps)).as(text).hasSize(1);
                assertThat(twice).as(text).isZero();
                boolean isOwnBatch = samples / size % batchSize == 0;
                assertThat(missing).as(text).isEqualTo(isOwnBatch ? samples % size : 0);
            }
            case DROP -> {
                assertThat(byRank)
                        .as(text)
                        .allMatch(rank -> rank.stream().allMatch(b -> b.length == batchSize));
                assertThat(new HashSet<>(steps)).as(text).hasSize(1);
                assertThat(twice).as(text).isZero();
                assertThat(missing).as(text).isEqualTo(samples % (size * batchSize));
            }
            case PAD -> {
                assertThat(new HashSet<>(steps)).as(text).hasSize(1);
                assertThat(lengths(byRank.getFirst()))
                        .as(text)
                        .isEqualTo(lengths(byRank.getLast()));
                assertThat(missing).as(text).isZero();
                assertThat(twice).as(text).isEqualTo((size - samples % size) % size);
            }
            case UNEVEN -> {
                assertThat(missing).as(text).isZero();
                assertThat(twice).as(text).isZero();
                assertThat(steps.getFirst() - steps.getLast()).as(text).isBetween(0, 1);
            }
        }
    }

    private static void assertRejected(int samples, int size, int batchSize, LastBatch lastBatch) {
        Sampling sampling = Sampling.shuffled(4).withLastBatch(lastBatch);
        assertThatIllegalArgumentException()
                .isThrownBy(() -> new Shard(samples, batchSize, sampling, size - 1, size))
                .withMessageContaining(samples + " samples")
                .withMessageContaining(size + " ranks")
                .withMessageContaining("Use ");
    }

    @Test
    void batchesOfAllRanksAreTheBatchOfOneProcess() {
        Sampling sampling = Sampling.shuffled(0);
        int[] one = sampling(40, 8, sampling, 0, 1);
        int[] first = sampling(40, 4, sampling, 0, 2);
        int[] second = sampling(40, 4, sampling, 1, 2);
        List<Integer> two = flat(List.of(first, second));
        assertThat(two).containsExactlyInAnyOrderElementsOf(flat(List.of(one)));
    }

    private static int[] sampling(int samples, int batch, Sampling sampling, int rank, int size) {
        return new Shard(samples, batch, sampling, rank, size).batches(0).iterator().next();
    }

    @Test
    void orderDependsOnSeedAndEpochOnly() {
        Shard shard = new Shard(50, 50, Sampling.shuffled(9), 0, 1);
        int[] first = batches(shard, 0).getFirst();
        int[] second = batches(shard, 1).getFirst();
        assertThat(second).isNotEqualTo(first).containsExactlyInAnyOrder(first);
        assertThat(batches(shard, 1).getFirst()).isEqualTo(second);
        Shard other = new Shard(50, 50, Sampling.shuffled(10), 0, 1);
        assertThat(batches(other, 0).getFirst()).isNotEqualTo(first).isNotEqualTo(second);
    }

    @Test
    void withoutShuffleKeepsDataOrder() {
        Shard shard = new Shard(10, 3, Sampling.inOrder(), 1, 2);
        assertThat(batches(shard, 0).getFirst()).containsExactly(1, 3, 5);
        assertThat(batches(shard, 7).getFirst()).containsExactly(1, 3, 5);
    }

    @Test
    void ranksOfACommunicatorShareTheData() throws Exception {
        World.run(
                3,
                comm -> {
                    Shard shard = Sampling.shuffled(1).shard(30, 5, comm);
                    assertThat(shard.stepsPerEpoch()).isEqualTo(2);
                    int[] seen = new int[30];
                    flat(batches(shard, 0)).forEach(index -> seen[index]++);
                    comm.allreduce("seen", Tensor.of(seen), ReduceOp.SUM);
                    assertThat(seen).containsOnly(1);
                });
    }

    @Test
    void epochsFollowEachOther() {
        Shard shard = new Shard(10, 2, Sampling.shuffled(3), 1, 2);
        List<int[]> all = new ArrayList<>();
        shard.batches(2, 3).forEach(all::add);

        List<Integer> expected = new ArrayList<>();
        for (int epoch = 2; epoch < 5; epoch++) {
            expected.addAll(flat(batches(shard, epoch)));
        }
        assertThat(flat(all)).isEqualTo(expected);
        assertThat(lengths(all)).hasSize(9);
        assertThat(shard.batches(0, 0)).isEmpty();
    }

    @Test
    void invalidArgumentsAreRejected() {
        Sampling sampling = Sampling.inOrder();
        assertThatIllegalArgumentException()
                .isThrownBy(() -> new Shard(9, 0, sampling, 0, 1))
                .withMessageContaining("batch size of 1 or more");
        assertThatIllegalArgumentException()
                .isThrownBy(() -> new Shard(0, 1, sampling, 0, 1))
                .withMessageContaining("empty");
        assertThatIllegalArgumentException()
                .isThrownBy(() -> new Shard(1L << 31, 1, sampling, 0, 1).batches(0))
                .withMessageContaining("larger than");
        assertThatIllegalArgumentException()
                .isThrownBy(() -> new Shard(9, 1, sampling, 0, 1).batches(-1))
                .withMessageContaining("epoch -1");
    }

    private static List<int[]> batches(Shard shard, int epoch) {
        List<int[]> batches = new ArrayList<>();
        shard.batches(epoch).forEach(batches::add);
        return batches;
    }

    private static List<Integer> flat(List<int[]> batches) {
        return batches.stream().flatMapToInt(Arrays::stream).boxed().toList();
    }

    private static List<Integer> lengths(List<int[]> batches) {
        return batches.stream().map(batch -> batch.length).toList();
    }
}
