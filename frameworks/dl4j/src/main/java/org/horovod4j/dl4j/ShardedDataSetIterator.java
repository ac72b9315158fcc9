package org.horovod4j.dl4j;

import org.horovod4j.dl4j.BatchRounds.Batches;
import org.jspecify.annotations.Nullable;
import org.nd4j.linalg.dataset.DataSet;
import org.nd4j.linalg.dataset.api.DataSetPreProcessor;
import org.nd4j.linalg.dataset.api.iterator.DataSetIterator;

import java.util.List;

/// This rank's part of the batches of another iterator: every `size`-th of them.
///
/// All ranks read the same iterator, and get the same number of batches. The last batches of an epoch,
/// if there are fewer than ranks, are divided among all ranks by samples. Samples that are fewer than
/// the ranks are left out.
///
/// The iterator must return the same batches on all ranks: one that shuffles needs the same seed.
/// [SampledDataSetIterator] reads only the samples of this rank.
@SuppressWarnings("serial") // an iterator of DL4J is Serializable, but nothing serializes this one
public final class ShardedDataSetIterator implements DataSetIterator {
    private static final Batches<DataSet> BATCHES =
            new Batches<>(DataSet::detach, DataSet::numExamples, DataSet::merge, DataSet::asList);

    private final transient DataSetIterator all;
    private final transient BatchRounds<DataSet> own;

    /// @param rank of this process among those that share the data
    /// @param size how many processes share the data
    public ShardedDataSetIterator(DataSetIterator all, int rank, int size) {
        this.all = all;
        this.own = new BatchRounds<>(all, BATCHES, rank, size);
    }

    @Override
    public boolean hasNext() {
        return own.hasNext();
    }

    @Override
    public DataSet next() {
        return own.next();
    }

    /// @throws UnsupportedOperationException always: the batches are those of the wrapped iterator
    @Override
    public DataSet next(int count) {
        throw new UnsupportedOperationException(
                "batches of another size: set the batch size of the iterator that is divided");
    }

    @Override
    public void reset() {
        all.reset();
        own.reset();
    }

    @Override
    public boolean resetSupported() {
        return all.resetSupported();
    }

    @Override
    public boolean asyncSupported() {
        return all.asyncSupported();
    }

    @Override
    public int inputColumns() {
        return all.inputColumns();
    }

    @Override
    public int totalOutcomes() {
        return all.totalOutcomes();
    }

    @Override
    public int batch() {
        return all.batch();
    }

    /// The wrapped iterator applies it to all batches.
    @Override
    public void setPreProcessor(DataSetPreProcessor preProcessor) {
        all.setPreProcessor(preProcessor);
    }

    @Override
    public @Nullable DataSetPreProcessor getPreProcessor() {
        return all.getPreProcessor();
    }

    @Override
    public @Nullable List<String> getLabels() {
        return all.getLabels();
    }
}
