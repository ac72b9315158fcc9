package org.horovod4j.elastic;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.horovod4j.data.LastBatch;
import org.horovod4j.data.Sampling;
import org.horovod4j.testing.World;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.function.Supplier;
import java.util.stream.IntStream;
import java.util.stream.Stream;

/// Tests the distribution of samples over ranks, also while the number of ranks changes.
final class ElasticSamplerTest {
    private static final int ROUNDS = 500;

    @ParameterizedTest(name = "{0} samples, {1} ranks, batches of {2}")
    @CsvSource({"12, 3, 2", "13, 3, 2", "1, 4, 8", "0, 2, 3", "101, 1, 7", "7, 8, 1"})
    void allRanksTogetherTakeEachSampleOnce(int samples, int size, int batchSize) {
        List<Integer> taken = epoch(samples, LastBatch.UNEVEN, size, batchSize);
        assertThat(taken).containsExactlyInAnyOrderElementsOf(all(samples));
    }

    @ParameterizedTest
    @EnumSource(LastBatch.class)
    void lastSamplesAreUsedAsInAShard(LastBatch lastBatch) {
        for (int size = 1; size <= 5; size++) {
            for (int samples : new int[] {0, 1, 4, 7, 12, 13, 64, 101}) {
                for (int batchSize : new int[] {1, 2, 3, 8, 200}) {
                    List<Integer> taken = epoch(samples, lastBatch, size, batchSize);
                    long missing = samples - taken.stream().distinct().count();
                    long repeated = taken.size() - taken.stream().distinct().count();
                    int remainder = samples % size;
                    boolean isOwnBatch = samples / size % batchSize == 0;
                    assertThat(List.of(missing, repeated))
                            .as("%d samples, %d ranks of %d", samples, size, batchSize)
                            .isEqualTo(
                                    switch (lastBatch) {
                                        case KEEP -> List.of(isOwnBatch ? (long) remainder : 0, 0L);
                                        case DROP ->
                                                List.of((long) (samples % (batchSize * size)), 0L);
                                        case PAD ->
                                                List.of(0L, remainder == 0 ? 0L : size - remainder);
                                        case UNEVEN -> List.of(0L, 0L);
                                    });
                }
            }
        }
    }

    @ParameterizedTest
    @EnumSource(LastBatch.class)
    void remainingBatchesAreThoseThatFollow(LastBatch lastBatch) {
        Sampling sampling = Sampling.shuffled(5).withLastBatch(lastBatch);
        for (ElasticSampler sampler : ranks(() -> new ElasticSampler(23, sampling), 3)) {
            int[] _ = sampler.nextBatch(2);
            List<int[]> remaining = new ArrayList<>();
            sampler.remainingBatches(2).forEachRemaining(remaining::add);
            assertThat(sampler.processed()).as("nothing is taken").isEqualTo(6);

            sampler.advance(2);
            List<int[]> following = new ArrayList<>();
            while (sampler.hasNext(2)) {
                following.add(sampler.nextBatch(2));
            }
            assertThat(remaining.subList(1, remaining.size()))
                    .usingElementComparator(Arrays::compare)
                    .isNotEmpty()
                    .isEqualTo(following);
            assertThatThrownBy(() -> sampler.advance(2))
                    .isInstanceOf(IllegalStateException.class)
                    .hasMessage("epoch 0 has no more batches: call nextEpoch");
        }
    }

    /// The samples of all ranks in one epoch.
    private static List<Integer> epoch(int samples, LastBatch lastBatch, int size, int batchSize) {
        Sampling sampling = Sampling.shuffled(5).withLastBatch(lastBatch);
        List<ElasticSampler> ranks = ranks(() -> new ElasticSampler(samples, sampling), size);
        List<Integer> taken = new ArrayList<>();
        while (ranks.getFirst().hasNext(batchSize)) {
            assertThat(ranks).allMatch(rank -> rank.hasNext(batchSize));
            taken.addAll(step(ranks, batchSize));
        }
        assertThat(ranks).noneMatch(rank -> rank.hasNext(batchSize));
        return taken;
    }

    @ParameterizedTest(name = "{0}: [{1}]")
    @CsvSource({"KEEP, ''", "DROP, ''", "PAD, '1, 1, 1, 1'", "UNEVEN, '0, 1, 1, 1'"})
    void threeSamplesRemainForFourRanks(LastBatch lastBatch, String lastSizes) {
        Sampling sampling = Sampling.inOrder().withLastBatch(lastBatch);
        List<ElasticSampler> ranks = ranks(() -> new ElasticSampler(11, sampling), 4);
        assertThat(sizes(ranks, 2)).containsExactly(2, 2, 2, 2);
        assertThat(ranks).allMatch(rank -> rank.hasNext(2) != lastSizes.isEmpty());
        if (!lastSizes.isEmpty()) {
            assertThat(sizes(ranks, 2)).hasToString("[%s]".formatted(lastSizes));
        }
    }

    @Test
    void lastBatchIsPaddedFromStartOfOrder() {
        Sampling sampling = Sampling.inOrder().withLastBatch(LastBatch.PAD);
        List<ElasticSampler> ranks = ranks(() -> new ElasticSampler(5, sampling), 2);
        assertThat(step(ranks, 2)).containsExactly(0, 1, 2, 3);
        assertThat(step(ranks, 2)).containsExactly(4, 0);
        assertThat(ranks).noneMatch(rank -> rank.hasNext(2));
    }

    @Test
    void orderDiffersByEpochAndIsReproducible() {
        ElasticSampler one = new ElasticSampler(50, Sampling.shuffled(9));
        ElasticSampler two = new ElasticSampler(50, Sampling.shuffled(9));
        one.generationStarted(0, 1);
        two.generationStarted(0, 1);
        int[] first = one.nextBatch(50);
        assertThat(two.nextBatch(50)).containsExactly(first);
        one.nextEpoch();
        assertThat(one.nextBatch(50)).isNotEqualTo(first).containsExactlyInAnyOrder(first);
    }

    @Test
    void samplesAreTakenExactlyOnceAcrossMembershipChanges() {
        long seed = Long.getLong("horovod4j.seed", System.nanoTime());
        System.out.println("ElasticSamplerTest: -Dhorovod4j.seed=" + seed);
        Random random = new Random(seed);
        for (int round = 0; round < ROUNDS; round++) {
            int count = random.nextInt(200);
            assertThat(new SimulatedEpoch(count, LastBatch.UNEVEN, random).run())
                    .as("seed %d, round %d", seed, round)
                    .containsExactlyInAnyOrderElementsOf(all(count));
        }
    }

    @Test
    void paddedSamplesAreFewerThanRanksAcrossMembershipChanges() {
        long seed = Long.getLong("horovod4j.seed", System.nanoTime());
        System.out.println("ElasticSamplerTest: -Dhorovod4j.seed=" + seed);
        Random random = new Random(seed);
        for (int round = 0; round < ROUNDS; round++) {
            int count = 1 + random.nextInt(200);
            List<Integer> taken = new SimulatedEpoch(count, LastBatch.PAD, random).run();
            assertThat(taken).as("seed %d, round %d", seed, round).containsAll(all(count));
            assertThat(taken.size() - count)
                    .as("seed %d, round %d", seed, round)
                    .isLessThan(SimulatedEpoch.MAX_RANKS);
        }
    }

    /// An epoch in which ranks join and leave between steps. A host update keeps the current state.
    /// A rank loss restores the last commit and discards the steps since then.
    private static final class SimulatedEpoch {
        static final int MAX_RANKS = 6;
        static final int MAX_BATCH_SIZE = 5;

        private final Supplier<ElasticSampler> sampler;
        private final Random random;
        private final List<ElasticSampler> ranks = new ArrayList<>();
        private List<Integer> counted = new ArrayList<>();
        private int committed;

        SimulatedEpoch(int count, LastBatch lastBatch, Random random) {
            long order = random.nextLong();
            this.sampler =
                    () ->
                            new ElasticSampler(
                                    count, Sampling.shuffled(order).withLastBatch(lastBatch));
            this.random = random;
            resize(anySize());
        }

        /// @return the samples of all steps that were not discarded
        List<Integer> run() {
            while (ranks.getFirst().hasNext(1)) {
                counted.addAll(step(ranks, 1 + random.nextInt(MAX_BATCH_SIZE)));
                switch (random.nextInt(6)) {
                    case 0, 1 -> commit();
                    case 2 -> resize(anySize());
                    case 3 -> {
                        ranks.forEach(ElasticSampler::restore);
                        counted = new ArrayList<>(counted.subList(0, committed));
                        ranks.remove(random.nextInt(ranks.size()));
                        resize(anySize());
                    }
                    default -> {} // continue with the next step
                }
            }
            return counted;
        }

        /// Starts the next generation: new ranks receive the state of the oldest rank, then all
        /// commit.
        private void resize(int size) {
            boolean isGrowing = ranks.size() < size;
            while (ranks.size() > size) {
                ranks.remove(random.nextInt(ranks.size()));
            }
            while (ranks.size() < size) {
                ElasticSampler fresh = sampler.get();
                if (!ranks.isEmpty()) {
                    fresh.startAt(ranks.getFirst().epoch(), ranks.getFirst().processed());
                } else { // no rank is left: restart the epoch
                    counted.clear();
                }
                ranks.add(fresh);
            }
            for (int rank = 0; rank < size; rank++) {
                ranks.get(rank).generationStarted(rank, size);
            }
            if (isGrowing) {
                commit();
            }
        }

        private void commit() {
            ranks.forEach(ElasticSampler::save);
            committed = counted.size();
        }

        private int anySize() {
            return 1 + random.nextInt(MAX_RANKS);
        }
    }

    @Test
    void syncTransfersProgress() throws Exception {
        World.run(
                3,
                comm -> {
                    ElasticSampler sampler = new ElasticSampler(90, Sampling.shuffled(1));
                    sampler.generationStarted(comm);
                    if (comm.rank() == 1) {
                        sampler.nextEpoch();
                        sampler.nextBatch(5);
                    }
                    sampler.sync(comm, 1);
                    assertThat(sampler.epoch()).isEqualTo(1);
                    assertThat(sampler.processed()).isEqualTo(15);
                });
    }

    @Test
    void resumesFromCheckpointWithDifferentSize() {
        Sampling exactlyOnce = Sampling.shuffled(3).withLastBatch(LastBatch.UNEVEN);
        List<ElasticSampler> before = ranks(() -> new ElasticSampler(20, exactlyOnce), 2);
        before.forEach(ElasticSampler::nextEpoch);
        List<Integer> taken = new ArrayList<>(step(before, 4));
        int epoch = before.getFirst().epoch();
        int processed = before.getFirst().processed();
        List<ElasticSampler> after =
                ranks(() -> new ElasticSampler(20, exactlyOnce).startAt(epoch, processed), 3);
        while (after.getFirst().hasNext(2)) {
            taken.addAll(step(after, 2));
        }
        assertThat(after.getFirst().epoch()).isEqualTo(1);
        assertThat(taken).containsExactlyInAnyOrderElementsOf(all(20));
    }

    @ParameterizedTest(name = "epoch {0}, {1} samples")
    @CsvSource({"-1, 0", "0, -1", "0, 4"})
    void invalidStartPositionIsRejected(int epoch, int processed) {
        ElasticSampler sampler = new ElasticSampler(3, Sampling.inOrder());
        assertThatThrownBy(() -> sampler.startAt(epoch, processed))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage(
                        "startAt(%d, %d): give an epoch of 0 or more, and how many of its 3 samples were taken",
                        epoch, processed);
    }

    @Test
    void nextBatchOutsideElasticRunFails() {
        assertThatThrownBy(() -> new ElasticSampler(3, Sampling.inOrder()).nextBatch(1))
                .isInstanceOf(IllegalStateException.class)
                .hasMessageContaining("inside Elastic.run");
    }

    @Test
    void nextBatchAfterEndOfEpochFails() {
        ElasticSampler sampler = new ElasticSampler(1, Sampling.inOrder());
        sampler.generationStarted(0, 1);
        assertThat(sampler.nextBatch(1)).containsExactly(0);
        assertThatThrownBy(() -> sampler.nextBatch(1))
                .isInstanceOf(IllegalStateException.class)
                .hasMessageContaining("epoch 0 has no more batches: call nextEpoch");
    }

    private static List<Integer> all(int count) {
        return IntStream.range(0, count).boxed().toList();
    }

    /// Creates one sampler per rank.
    private static List<ElasticSampler> ranks(Supplier<ElasticSampler> sampler, int size) {
        List<ElasticSampler> ranks = Stream.generate(sampler).limit(size).toList();
        for (int rank = 0; rank < size; rank++) {
            ranks.get(rank).generationStarted(rank, size);
        }
        return ranks;
    }

    private static List<Integer> step(List<ElasticSampler> ranks, int batchSize) {
        return ranks.stream()
                .flatMapToInt(rank -> Arrays.stream(rank.nextBatch(batchSize)))
                .boxed()
                .toList();
    }

    private static List<Integer> sizes(List<ElasticSampler> ranks, int batchSize) {
        return ranks.stream().map(rank -> rank.nextBatch(batchSize).length).toList();
    }
}
