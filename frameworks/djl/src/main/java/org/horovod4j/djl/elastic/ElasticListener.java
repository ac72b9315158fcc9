package org.horovod4j.djl.elastic;

import ai.djl.training.Trainer;
import ai.djl.training.listener.TrainingListenerAdapter;

import org.horovod4j.elastic.State;

/// Makes `EasyTrain.fit` elastic: counts batches and epochs in the state, and commits. So a lost worker
/// costs the batches since the last commit, and not the epoch.
///
/// ```java
/// ElasticSampler sampler = new ElasticSampler(images, Sampling.shuffled(42));
/// ElasticBatches batches = new ElasticBatches(sampler, 64); // the sampling of the training data
/// ObjectState state =
///         new ObjectState().with("model", new DjlState(model, optimizer)).with("sampler", sampler);
/// config.addTrainingListeners(new ElasticListener(state, batches).commitEvery(10)); // the last one
/// Elastic.run(state, _ -> EasyTrain.fit(trainer, epochs - sampler.epoch(), train, test));
/// ```
///
/// DJL calls listeners between the backward pass and the step of a batch. So a commit has all batches
/// but the current one, whose gradients are not part of it. It also commits at the end of an epoch. Add
/// it after all other listeners, because a commit throws when hosts have changed.
public final class ElasticListener extends TrainingListenerAdapter {
    private final State state;
    private final ElasticBatches batches;
    private int batchesPerCommit = 1;
    private int batchesSinceCommit;

    /// Whether there was a batch whose step is made when the next event comes.
    private boolean hasOpenBatch;

    /// @param state of `Elastic.run`, with the sampler of `batches`
    public ElasticListener(State state, ElasticBatches batches) {
        this.state = state;
        this.batches = batches;
        state.onReset(this::reset);
    }

    /// Commits after this number of batches, by default after each. With `backwardPassesPerStep`, use a
    /// multiple of it: a commit inside an accumulation window would lose a part of it.
    public ElasticListener commitEvery(int count) {
        if (count < 1) {
            throw new IllegalArgumentException(
                    "a commit comes after at least one batch, not " + count);
        }
        batchesPerCommit = count;
        return this;
    }

    private void reset() {
        hasOpenBatch = false;
        batchesSinceCommit = 0;
    }

    @Override
    public void onTrainingBatch(Trainer trainer, BatchData batchData) {
        finishBatch();
        if (batchesSinceCommit >= batchesPerCommit) {
            batchesSinceCommit = 0;
            state.commit();
        }
        hasOpenBatch = true;
    }

    @Override
    public void onEpoch(Trainer trainer) {
        finishBatch();
        batches.epochDone();
        batchesSinceCommit = 0;
        state.commit();
    }

    private void finishBatch() {
        if (hasOpenBatch) {
            hasOpenBatch = false;
            batches.batchDone();
            batchesSinceCommit++;
        }
    }
}
