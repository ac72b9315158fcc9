package org.horovod4j.djl;

import ai.djl.ndarray.NDManager;
import ai.djl.training.dataset.Batch;
import ai.djl.training.dataset.Dataset;
import ai.djl.translate.TranslateException;
import ai.djl.util.Progress;

import org.horovod4j.Communicator;
import org.horovod4j.data.RoundRobin;
import org.horovod4j.training.CommunicatorProvider;
import org.jspecify.annotations.Nullable;

import java.io.IOException;
import java.util.Iterator;
import java.util.concurrent.ExecutorService;

/// Gives each rank its part of the batches of a data set that can only be read in order: of `n`
/// ranks, rank `r` gets every n-th batch, beginning with batch `r`.
///
/// ```java
/// EasyTrain.fit(trainer, epochs, new ShardedDataset(stream), test);
/// ```
///
/// Every rank reads all batches and closes those of other ranks, and all ranks must read them in the
/// same order: do not shuffle, or shuffle with the same seed. The last batches, if they are not enough
/// for all ranks, are left out. A `RandomAccessDataset` uses a [ShardedSampler], which reads only what
/// its rank needs.
public final class ShardedDataset implements Dataset {
    private final Dataset dataset;
    private final CommunicatorProvider communicators;

    /// Shares the batches among all ranks that `Hvd` has in each epoch.
    public ShardedDataset(Dataset dataset) {
        this(dataset, CommunicatorProvider.FROM_HVD);
    }

    public ShardedDataset(Dataset dataset, Communicator communicator) {
        this(dataset, new CommunicatorProvider(communicator));
    }

    private ShardedDataset(Dataset dataset, CommunicatorProvider communicatorProvider) {
        this.dataset = dataset;
        this.communicators = communicatorProvider;
    }

    @Override
    public Iterable<Batch> getData(NDManager manager) throws IOException, TranslateException {
        return share(dataset.getData(manager));
    }

    @Override
    public Iterable<Batch> getData(NDManager manager, ExecutorService executorService)
            throws IOException, TranslateException {
        return share(dataset.getData(manager, executorService));
    }

    private Iterable<Batch> share(Iterable<Batch> batches) {
        Communicator communicator = communicators.current();
        return () -> share(batches.iterator(), communicator);
    }

    private static Iterator<Batch> share(Iterator<Batch> batches, Communicator communicator) {
        return new RoundRobin<>(batches, communicator.rank(), communicator.size(), Batch::close);
    }

    @Override
    public void prepare(@Nullable Progress progress) throws IOException, TranslateException {
        dataset.prepare(progress);
    }
}
