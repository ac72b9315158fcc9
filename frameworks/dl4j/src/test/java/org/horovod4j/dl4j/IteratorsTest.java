package org.horovod4j.dl4j;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.deeplearning4j.datasets.iterator.utilty.ListDataSetIterator;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.horovod4j.data.LastBatch;
import org.horovod4j.data.Sampling;
import org.horovod4j.data.Shard;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.dataset.AsyncDataSetIterator;
import org.nd4j.linalg.dataset.DataSet;
import org.nd4j.linalg.dataset.adapter.MultiDataSetIteratorAdapter;
import org.nd4j.linalg.dataset.api.MultiDataSet;
import org.nd4j.linalg.dataset.api.iterator.DataSetIterator;
import org.nd4j.linalg.dataset.api.iterator.MultiDataSetIterator;
import org.nd4j.linalg.factory.Nd4j;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.stream.IntStream;

class IteratorsTest {
    /// Sample `i` has the features `[i, -i]` and the label `[i]`.
    private static DataSet samples(int count) {
        INDArray numbers = Nd4j.arange(count).reshape(count, 1);
        return new DataSet(Nd4j.hstack(numbers, numbers.neg()), numbers.dup());
    }

    private static DataSetIterator batches(int samples, int batchSize) {
        return new ListDataSetIterator<>(samples(samples).asList(), batchSize);
    }

    private static List<List<Integer>> read(DataSetIterator iterator) {
        List<List<Integer>> batches = new ArrayList<>();
        while (iterator.hasNext()) {
            batches.add(numbers(iterator.next()));
        }
        return batches;
    }

    private static List<Integer> numbers(DataSet batch) {
        int[] labels = batch.getLabels().reshape(batch.getLabels().length()).toIntVector();
        int[] features = batch.getFeatures().getColumn(0).toIntVector();
        assertThat(features).containsExactly(labels);
        return IntStream.of(labels).boxed().toList();
    }

    @Test
    void ranksTakeBatchesInTurn() {
        assertThat(read(new ShardedDataSetIterator(batches(12, 2), 0, 3)))
                .containsExactly(List.of(0, 1), List.of(6, 7));
        assertThat(read(new ShardedDataSetIterator(batches(12, 2), 2, 3)))
                .containsExactly(List.of(4, 5), List.of(10, 11));
    }

    @ParameterizedTest
    @CsvSource({"13, 4, 3", "7, 2, 2", "20, 3, 4", "5, 8, 2", "1, 1, 1", "9, 2, 4"})
    void allRanksHaveTheSameNumberOfBatchesAndEverySampleCounts(
            int samples, int batchSize, int ranks) {
        List<Integer> all = new ArrayList<>();
        List<Integer> steps = new ArrayList<>();
        for (int rank = 0; rank < ranks; rank++) {
            List<List<Integer>> own =
                    read(new ShardedDataSetIterator(batches(samples, batchSize), rank, ranks));
            steps.add(own.size());
            own.forEach(all::addAll);
        }
        assertThat(steps).containsOnly(steps.getFirst());
        assertThat(all).doesNotHaveDuplicates();
        assertThat(samples - all.size()).isBetween(0, ranks - 1);
    }

    @Test
    void everyEpochHasTheSameBatchesAfterReset() {
        DataSetIterator own = new ShardedDataSetIterator(batches(11, 2), 1, 2);
        List<List<Integer>> first = read(own);
        own.reset();
        assertThat(read(own)).isEqualTo(first).hasSize(3);
    }

    /// Batches of such an iterator are in a workspace, where later ones overwrite them.
    @Test
    void asynchronousIteratorsAreDivided() {
        DataSetIterator async = new AsyncDataSetIterator(batches(64, 1), 2, true);
        DataSetIterator own = new ShardedDataSetIterator(async, 0, 8);
        assertThat(own.asyncSupported()).isFalse();
        assertThat(read(own))
                .containsExactlyElementsOf(
                        IntStream.range(0, 8).mapToObj(i -> List.of(8 * i)).toList());
    }

    @Test
    void anAsynchronousIteratorReadsAhead() {
        DataSetIterator own =
                new AsyncDataSetIterator(new ShardedDataSetIterator(batches(10, 1), 1, 2));
        assertThat(read(own)).hasSize(5).contains(List.of(9));
    }

    @Test
    void batchesOfSeveralArraysAreDivided() {
        MultiDataSetIterator all = new MultiDataSetIteratorAdapter(batches(7, 2));
        MultiDataSetIterator own = new ShardedMultiDataSetIterator(all, 1, 2);
        List<Integer> labels = new ArrayList<>();
        while (own.hasNext()) {
            MultiDataSet batch = own.next();
            for (int label :
                    batch.getLabels(0).reshape(batch.getLabels(0).length()).toIntVector()) {
                labels.add(label);
            }
        }
        assertThat(labels).containsExactly(2, 3, 6);
        own.reset();
        assertThat(own.hasNext()).isTrue();
    }

    @Test
    void aSampledIteratorHasAnotherOrderInEachEpoch() {
        List<Integer> seen = new ArrayList<>();
        for (int rank = 0; rank < 2; rank++) {
            SampledDataSetIterator own =
                    SampledDataSetIterator.of(
                            samples(11), new Shard(11, 3, Sampling.shuffled(5), rank, 2));
            List<List<Integer>> first = read(own);
            own.reset();
            List<List<Integer>> second = read(own);
            assertThat(second).hasSize(own.stepsPerEpoch()).isNotEqualTo(first);
            assertThat(read(own.startAt(0))).isEqualTo(first);
            assertThat(read(own.startAt(1))).isEqualTo(second);
            first.forEach(seen::addAll);
        }
        assertThat(seen).hasSize(11).doesNotHaveDuplicates();
    }

    /// A prefetching thread may or may not have taken a batch before `reset`, and differently on each rank.
    @Test
    void resetBeginsTheNextEpochWithAndWithoutABatchTaken() {
        Shard shard = new Shard(40, 3, Sampling.shuffled(5), 0, 2);
        List<List<Integer>> second = read(SampledDataSetIterator.of(samples(40), shard).startAt(1));
        SampledDataSetIterator untouched = SampledDataSetIterator.of(samples(40), shard);
        untouched.reset();
        assertThat(read(untouched)).isEqualTo(second);
        SampledDataSetIterator begun = SampledDataSetIterator.of(samples(40), shard);
        assertThat(begun.next().numExamples()).isEqualTo(3);
        begun.reset();
        assertThat(read(begun)).isEqualTo(second);
        for (int i = 0; i < 20; i++) { // timing decides what the thread of the iterator has read
            DataSetIterator async =
                    new AsyncDataSetIterator(SampledDataSetIterator.of(samples(40), shard));
            async.reset();
            assertThat(read(async)).isEqualTo(second);
        }
    }

    @Test
    void fitTrainsWithTheOrdersOfItsEpochs() {
        Shard shard = new Shard(12, 3, Sampling.shuffled(5), 1, 2);
        List<int[]> taken = Collections.synchronizedList(new ArrayList<>());
        SampledDataSetIterator own =
                new SampledDataSetIterator(
                        shard,
                        indices -> {
                            taken.add(indices);
                            return TestNetwork.DENSE.batch(0, indices.length);
                        });
        MultiLayerNetwork network = (MultiLayerNetwork) TestNetwork.DENSE.create(1);
        network.fit(own, 2);
        network.fit(own.startAt(5), 2);
        List<int[]> expected = new ArrayList<>();
        for (int epoch : new int[] {0, 1, 5, 6}) {
            shard.batches(epoch).forEach(expected::add);
        }
        assertThat(taken.toArray(int[][]::new)).isDeepEqualTo(expected.toArray(int[][]::new));
    }

    @Test
    void dataMayHaveMasksAndNoLabels() {
        DataSet all =
                new DataSet(
                        Nd4j.arange(12).reshape(3, 2, 2), null, Nd4j.arange(6).reshape(3, 2), null);
        DataSet batch =
                SampledDataSetIterator.of(all, new Shard(3, 3, Sampling.inOrder(), 0, 1)).next();
        assertThat(batch.getLabels()).isNull();
        assertThat(batch.getFeatures()).isEqualTo(all.getFeatures());
        assertThat(batch.getFeaturesMaskArray()).isEqualTo(all.getFeaturesMaskArray());
    }

    @Test
    void imagesKeepTheirShape() {
        DataSet images =
                new DataSet(Nd4j.arange(24).reshape(6, 1, 2, 2), Nd4j.arange(6).reshape(6, 1));
        SampledDataSetIterator own =
                SampledDataSetIterator.of(
                        images,
                        new Shard(6, 2, Sampling.inOrder().withLastBatch(LastBatch.DROP), 1, 2));
        DataSet batch = own.next();
        assertThat(batch.getFeatures().shape()).containsExactly(2, 1, 2, 2);
        assertThat(batch.getFeatures().reshape(8).toIntVector())
                .containsExactly(4, 5, 6, 7, 12, 13, 14, 15);
    }

    @Test
    void batchesOfAnotherSizeAreRejected() {
        DataSetIterator own = new ShardedDataSetIterator(batches(4, 2), 0, 1);
        assertThatThrownBy(() -> own.next(3)).hasMessageContaining("batch size of the iterator");
        assertThatThrownBy(() -> new ShardedDataSetIterator(batches(4, 2), 2, 2))
                .hasMessageContaining("there is no rank 2 of 2 ranks");
    }
}
