package org.horovod4j.djl;

import static org.assertj.core.api.Assertions.assertThat;

import ai.djl.ndarray.NDList;
import ai.djl.ndarray.NDManager;
import ai.djl.training.GradientCollector;
import ai.djl.training.Trainer;
import ai.djl.training.dataset.ArrayDataset;
import ai.djl.training.dataset.Batch;
import ai.djl.training.optimizer.Optimizer;
import ai.djl.training.tracker.Tracker;
import ai.djl.translate.TranslateException;

import org.horovod4j.Communicator;
import org.horovod4j.data.LastBatch;
import org.junit.jupiter.api.Test;

import java.io.IOException;
import java.util.ArrayList;
import java.util.List;

/// Two processes with [LastBatch#UNEVEN]: one has one batch more in each epoch.
class UnevenBatchesIT {
    private static final int BATCH = 4;
    private static final int SAMPLES = 17; // rank 0 has batches of 4, 4 and 1, rank 1 of 4 and 4
    private static final int EPOCHS = 2;

    /// Parameters and optimizer state of a rank.
    public record TrainedState(List<String> weights, List<String> momentum, int updates) {
        static TrainedState of(TestTraining testTraining, Optimizer optimizer) {
            OptimizerState state = OptimizerState.of(optimizer, testTraining.model.getBlock());
            return new TrainedState(
                    SmallNetwork.contents(Parameters.arrays(testTraining.model.getBlock())),
                    SmallNetwork.contents(state.arrays()),
                    state.updates());
        }
    }

    /// An epoch on one rank.
    ///
    /// @param last the rank that joined last
    /// @param joined the state when all ranks have joined
    /// @param broadcast the state after the broadcast from that rank
    public record Epoch(int steps, int last, TrainedState joined, TrainedState broadcast) {}

    @Test
    void broadcastFromLastJoinedRankMakesRanksEqual() {
        List<List<Epoch>> ranks = TestTraining.ranks(2).run(UnevenBatchesIT::train);

        for (int number = 0; number < EPOCHS; number++) {
            Epoch longer = ranks.get(0).get(number);
            Epoch shorter = ranks.get(1).get(number);
            assertThat(longer.steps()).isEqualTo(3);
            assertThat(shorter.steps()).isEqualTo(2);
            assertThat(List.of(longer.last(), shorter.last())).containsOnly(0);

            int before = 3 * number;
            assertThat(longer.joined().updates()).isEqualTo(before + 3);
            assertThat(shorter.joined().updates()).isEqualTo(before + 2);
            assertThat(shorter.joined().weights()).isNotEqualTo(longer.joined().weights());
            assertThat(shorter.joined().momentum()).isNotEqualTo(longer.joined().momentum());

            assertThat(shorter.broadcast())
                    .isEqualTo(longer.broadcast())
                    .isEqualTo(longer.joined());
        }
    }

    private static List<Epoch> train(Communicator comm) throws IOException, TranslateException {
        Optimizer momentum =
                Optimizer.sgd()
                        .setLearningRateTracker(Tracker.fixed(0.1f))
                        .optMomentum(0.9f)
                        .build();
        List<Epoch> epochs = new ArrayList<>();
        try (TestTraining testTraining =
                        new TestTraining(
                                TestTraining.network(),
                                block ->
                                        DistributedOptimizer.wrap(momentum, block)
                                                .overlap(true)
                                                .build(),
                                TestTraining.INPUT);
                NDManager manager = testTraining.model.getNDManager().newSubManager()) {
            ArrayDataset data =
                    new ArrayDataset.Builder()
                            .setData(
                                    TestTraining.samples(
                                            manager, 0, SAMPLES, TestTraining.INPUTS, 0))
                            .optLabels(
                                    TestTraining.samples(
                                            manager, 0, SAMPLES, TestTraining.OUTPUTS, 1))
                            .setSampling(
                                    ShardedSampler.batches(BATCH)
                                            .lastBatch(LastBatch.UNEVEN)
                                            .build())
                            .build();
            for (int epoch = 0; epoch < EPOCHS; epoch++) {
                int steps = pass(testTraining.trainer, data);
                int last = comm.join();
                TrainedState joined = TrainedState.of(testTraining, momentum);
                HvdDjl.broadcastParameters(testTraining.model, last);
                HvdDjl.broadcastOptimizerState(testTraining.optimizer(), testTraining.model, last);
                epochs.add(new Epoch(steps, last, joined, TrainedState.of(testTraining, momentum)));
            }
        }
        return epochs;
    }

    private static int pass(Trainer trainer, ArrayDataset data)
            throws IOException, TranslateException {
        int steps = 0;
        for (Batch batch : trainer.iterateDataset(data)) {
            try (batch;
                    GradientCollector collector = trainer.newGradientCollector()) {
                NDList outputs = trainer.forward(batch.getData());
                collector.backward(trainer.getLoss().evaluate(batch.getLabels(), outputs));
            }
            trainer.step();
            steps++;
        }
        return steps;
    }
}
