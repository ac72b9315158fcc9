package org.horovod4j.spark.ml;

import org.horovod4j.Communicator;
import org.horovod4j.RankFunction;
import org.horovod4j.data.LastBatch;
import org.horovod4j.data.Sampling;
import org.horovod4j.spark.data.RankReader;
import org.horovod4j.spark.data.ReadOptions;
import org.horovod4j.spark.data.StoredRows;
import org.jspecify.annotations.Nullable;

import java.io.IOException;
import java.io.Serializable;

/// What each rank runs for a fit.
record FitTask(FitPlan plan) implements RankFunction<FitTask.Result> {
    /// What a rank returns.
    ///
    /// @param network of rank 0; null on other ranks
    record Result(@Nullable NetworkFiles network, TrainingHistory history)
            implements Serializable {}

    @Override
    public Result apply(Communicator communicator) throws Exception {
        Sampling order = plan.isShuffled() ? Sampling.shuffled(plan.seed()) : Sampling.inOrder();
        try (LocalFolder local = LocalFolder.create();
                RankReader training = reader(plan.data().training(), order, communicator)) {
            if (!plan.hasValidation()) {
                return new RankFit(plan, communicator, local.path(), training, null).run();
            }
            try (RankReader validation =
                    reader(plan.data().validation(), Sampling.inOrder(), communicator)) {
                return new RankFit(plan, communicator, local.path(), training, validation).run();
            }
        }
    }

    /// Each row is used once in an epoch. A rank whose rows end a step earlier takes part in the last
    /// step without rows.
    private RankReader reader(StoredRows rows, Sampling order, Communicator communicator)
            throws IOException {
        return rows.reader(
                ReadOptions.batches(plan.batchSize())
                        .withSampling(order.withLastBatch(LastBatch.UNEVEN)),
                communicator);
    }
}
