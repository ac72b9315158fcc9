package org.horovod4j.dl4j;

import org.horovod4j.dl4j.BatchRounds.Batches;
import org.jspecify.annotations.Nullable;
import org.nd4j.linalg.dataset.api.MultiDataSet;
import org.nd4j.linalg.dataset.api.MultiDataSetPreProcessor;
import org.nd4j.linalg.dataset.api.iterator.MultiDataSetIterator;

/// This rank's part of the batches of another iterator, for graphs with several inputs or outputs. See
/// [ShardedDataSetIterator].
@SuppressWarnings("serial") // an iterator of DL4J is Serializable, but nothing serializes this one
public final class ShardedMultiDataSetIterator implements MultiDataSetIterator {
    private static final Batches<MultiDataSet> BATCHES =
            new Batches<>(
                    MultiDataSet::detach,
                    batch -> Math.toIntExact(batch.getFeatures(0).size(0)),
                    org.nd4j.linalg.dataset.MultiDataSet::merge,
                    MultiDataSet::asList);

    private final transient MultiDataSetIterator all;
    private final transient BatchRounds<MultiDataSet> own;

    /// @param rank of this process among those that share the data
    /// @param size how many processes share the data
    public ShardedMultiDataSetIterator(MultiDataSetIterator all, int rank, int size) {
        this.all = all;
        this.own = new BatchRounds<>(all, BATCHES, rank, size);
    }

    @Override
    public boolean hasNext() {
        return own.hasNext();
    }

    @Override
    public MultiDataSet next() {
        return own.next();
    }

    /// @throws UnsupportedOperationException always: the batches are those of the wrapped iterator
    @Override
    public MultiDataSet next(int count) {
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

    /// The wrapped iterator applies it to all batches.
    @Override
    public void setPreProcessor(MultiDataSetPreProcessor preProcessor) {
        all.setPreProcessor(preProcessor);
    }

    @Override
    public @Nullable MultiDataSetPreProcessor getPreProcessor() {
        return all.getPreProcessor();
    }
}
