package org.horovod4j.dl4j;

import org.horovod4j.data.Shard;
import org.jspecify.annotations.Nullable;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.dataset.DataSet;
import org.nd4j.linalg.dataset.api.DataSetPreProcessor;
import org.nd4j.linalg.dataset.api.iterator.DataSetIterator;
import org.nd4j.linalg.factory.Nd4j;

import java.util.Iterator;
import java.util.List;
import java.util.function.Function;

/// The batches of a [Shard], for data whose samples can be read in any order. A rank reads only its own
/// samples, and each epoch has its own order if the sampling is shuffled.
///
/// ```java
/// Shard shard = Sampling.shuffled(42).shard(samples, 32, Hvd.communicator());
/// DataSetIterator iterator = new SampledDataSetIterator(shard, indices -> read(indices));
/// ```
@SuppressWarnings("serial") // an iterator of DL4J is Serializable, but nothing serializes this one
public final class SampledDataSetIterator implements DataSetIterator {
    private final transient Shard shard;
    private final transient Function<int[], DataSet> reader;
    private int epoch;
    private transient Iterator<int[]> batches;
    private transient @Nullable DataSetPreProcessor preProcessor;

    /// @param reader returns the samples with these indices as one batch; another thread may call it
    public SampledDataSetIterator(Shard shard, Function<int[], DataSet> reader) {
        this.shard = shard;
        this.reader = reader;
        this.batches = shard.batches(0).iterator();
    }

    /// Data in memory.
    public static SampledDataSetIterator of(DataSet all, Shard shard) {
        Samples features = Samples.of(all.getFeatures());
        Samples labels = Samples.of(all.getLabels());
        Samples featuresMask = Samples.of(all.getFeaturesMaskArray());
        Samples labelsMask = Samples.of(all.getLabelsMaskArray());
        return new SampledDataSetIterator(
                shard,
                indices ->
                        new DataSet(
                                features.select(indices),
                                labels.select(indices),
                                featuresMask.select(indices),
                                labelsMask.select(indices)));
    }

    /// An array that is optional in a batch.
    ///
    /// @param rows a row for each sample
    @SuppressWarnings("ArrayRecordComponent") // never compared
    private record Samples(@Nullable INDArray rows, long[] shape) {
        static Samples of(@Nullable INDArray array) {
            return array == null
                    ? new Samples(null, new long[0])
                    : new Samples(
                            array.reshape(array.size(0), array.length() / array.size(0)),
                            array.shape());
        }

        @Nullable INDArray select(int[] indices) {
            if (rows == null) {
                return null;
            }
            long[] selected = shape.clone();
            selected[0] = indices.length;
            return Nd4j.pullRows(rows, 1, indices).reshape(selected);
        }
    }

    /// Begins with the order of another epoch, to resume a training.
    ///
    /// @param first from 0
    public SampledDataSetIterator startAt(int first) {
        epoch = first;
        batches = shard.batches(epoch).iterator();
        return this;
    }

    /// How many batches this rank has in an epoch.
    public int stepsPerEpoch() {
        return shard.stepsPerEpoch();
    }

    @Override
    public boolean hasNext() {
        return batches.hasNext();
    }

    @Override
    public DataSet next() {
        DataSet batch = reader.apply(batches.next());
        if (preProcessor != null) {
            preProcessor.preProcess(batch);
        }
        return batch;
    }

    /// @throws UnsupportedOperationException always: the shard has the size of batches
    @Override
    public DataSet next(int count) {
        throw new UnsupportedOperationException(
                "batches of another size: set the batch size of the shard");
    }

    /// Begins the next epoch, even if no batch of this one was taken: with an asynchronous iterator, timing
    /// decides whether one was, and the epoch must be the same on all ranks.
    @Override
    public void reset() {
        SampledDataSetIterator _ = startAt(epoch + 1);
    }

    @Override
    public boolean resetSupported() {
        return true;
    }

    @Override
    public boolean asyncSupported() {
        return true;
    }

    @Override
    public int batch() {
        return shard.batchSize();
    }

    /// @throws UnsupportedOperationException always: only the reader knows
    @Override
    public int inputColumns() {
        throw new UnsupportedOperationException("look at the features of a batch instead");
    }

    /// @throws UnsupportedOperationException always: only the reader knows
    @Override
    public int totalOutcomes() {
        throw new UnsupportedOperationException("look at the labels of a batch instead");
    }

    @Override
    public void setPreProcessor(@Nullable DataSetPreProcessor value) {
        preProcessor = value;
    }

    @Override
    public @Nullable DataSetPreProcessor getPreProcessor() {
        return preProcessor;
    }

    @Override
    public @Nullable List<String> getLabels() {
        return null;
    }
}
