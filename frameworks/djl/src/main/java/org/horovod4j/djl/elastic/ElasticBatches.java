package org.horovod4j.djl.elastic;

import ai.djl.training.dataset.RandomAccessDataset;
import ai.djl.training.dataset.Sampler;

import org.horovod4j.elastic.ElasticSampler;

import java.util.Arrays;
import java.util.Iterator;
import java.util.List;

/// An [ElasticSampler] as a sampler of DJL: a pass over the data set has the batches that are left of
/// the epoch. An [ElasticListener] counts those that were trained.
public final class ElasticBatches implements Sampler {
    private final ElasticSampler sampler;
    private final int batchSize;

    /// @param sampler part of the state that is passed to `Elastic.run`
    /// @param batchSize the samples of one batch on one rank
    public ElasticBatches(ElasticSampler sampler, int batchSize) {
        if (batchSize < 1) {
            throw new IllegalArgumentException("a batch has at least one sample, not " + batchSize);
        }
        this.sampler = sampler;
        this.batchSize = batchSize;
    }

    @Override
    public Iterator<List<Long>> sample(RandomAccessDataset dataset) {
        if (dataset.size() != sampler.samples()) {
            throw new IllegalArgumentException(
                    "the ElasticSampler has %d samples, but the data set has %d: pass it dataset.size()"
                            .formatted(sampler.samples(), dataset.size()));
        }
        Iterator<int[]> batches = sampler.remainingBatches(batchSize);
        return new Iterator<>() {
            @Override
            public boolean hasNext() {
                return batches.hasNext();
            }

            @Override
            public List<Long> next() {
                return samples(batches.next());
            }
        };
    }

    private static List<Long> samples(int[] batch) {
        if (batch.length == 0) {
            throw new IllegalArgumentException(
                    """
                    this rank has no samples in the last batch, because the sampler uses LastBatch.UNEVEN
                    EasyTrain.fit cannot leave out a step: use KEEP, PAD or DROP, or a loop of your own.""");
        }
        return Arrays.stream(batch).asLongStream().boxed().toList();
    }

    @Override
    public int getBatchSize() {
        return batchSize;
    }

    /// A step was made with the next batch.
    void batchDone() {
        sampler.advance(batchSize);
    }

    void epochDone() {
        sampler.nextEpoch();
    }
}
