package org.horovod4j.djl;

import static org.assertj.core.api.Assertions.assertThat;

import ai.djl.Device;
import ai.djl.Model;
import ai.djl.ndarray.NDManager;
import ai.djl.training.DefaultTrainingConfig;
import ai.djl.training.EasyTrain;
import ai.djl.training.Trainer;
import ai.djl.training.dataset.ArrayDataset;
import ai.djl.training.listener.TrainingListenerAdapter;
import ai.djl.training.loss.Loss;
import ai.djl.training.optimizer.Optimizer;

import org.horovod4j.Hvd;
import org.horovod4j.data.Sampling;
import org.horovod4j.djl.elastic.DjlState;
import org.horovod4j.djl.elastic.ElasticBatches;
import org.horovod4j.djl.elastic.ElasticListener;
import org.horovod4j.elastic.Elastic;
import org.horovod4j.elastic.ElasticSampler;
import org.horovod4j.elastic.ObjectState;
import org.junit.jupiter.api.Test;

import java.util.ArrayList;
import java.util.List;

/// `EasyTrain.fit` in an elastic job that loses a worker in the middle of an epoch.
class ElasticFitIT {
    private static final int SAMPLES = 48;
    private static final int BATCH = 4;
    private static final int EPOCHS = 2;

    /// The training of one worker.
    ///
    /// @param positions generation, epoch and processed samples before each step
    public record Course(List<String> positions, int updates) {}

    @Test
    void lostWorkerCostsBatchesSinceLastCommit() {
        List<Course> courses =
                TestTraining.ranks(2).minProcesses(1).resetLimit(1).runElastic(ElasticFitIT::train);

        assertThat(courses).as("the other worker is lost").hasSize(1);
        List<String> expected = new ArrayList<>();
        for (int processed = 0; processed < SAMPLES; processed += 2 * BATCH) {
            expected.add("0/0/" + processed);
        }
        for (int processed = 0; processed <= 24; processed += 2 * BATCH) {
            expected.add("0/1/" + processed);
        }
        for (int processed = 16; processed < SAMPLES; processed += BATCH) { // the last commit
            expected.add("1/1/" + processed);
        }
        assertThat(courses.getFirst().positions()).isEqualTo(expected);
        assertThat(courses.getFirst().updates()).isEqualTo(6 + 2 + 8);
    }

    private static Course train() throws Exception {
        List<String> positions = new ArrayList<>();
        try (Model model = Model.newInstance("fit", Device.cpu(), "PyTorch")) {
            model.setBlock(TestTraining.network());
            // With overlap, the step in which rank 1 ends could still succeed on rank 0.
            Optimizer optimizer =
                    HvdDjl.distributed(TestTraining.sgd(), model, it -> it.overlap(false));
            ElasticSampler sampler = new ElasticSampler(SAMPLES, Sampling.shuffled(7));
            ElasticBatches batches = new ElasticBatches(sampler, BATCH);
            ObjectState state = new ObjectState().with("sampler", sampler);
            DefaultTrainingConfig config =
                    new DefaultTrainingConfig(Loss.l2Loss())
                            .optOptimizer(optimizer)
                            .optDevices(new Device[] {Device.cpu()})
                            .addTrainingListeners(
                                    new ElasticListener(state, batches).commitEvery(2),
                                    new Recorder(sampler, positions));
            try (Trainer trainer = model.newTrainer(config)) {
                trainer.initialize(TestTraining.INPUT);
                state.with("model", new DjlState(model, optimizer));
                ArrayDataset data = data(model.getNDManager(), batches);
                boolean isTrained =
                        Elastic.run(
                                state,
                                _ -> EasyTrain.fit(trainer, EPOCHS - sampler.epoch(), data, null));
                assertThat(isTrained).isTrue();
                int updates = OptimizerState.of(optimizer, model.getBlock()).updates();
                return new Course(positions, updates);
            }
        }
    }

    private static ArrayDataset data(NDManager manager, ElasticBatches batches) {
        return new ArrayDataset.Builder()
                .setData(TestTraining.samples(manager, 0, SAMPLES, TestTraining.INPUTS, 0))
                .optLabels(TestTraining.samples(manager, 0, SAMPLES, TestTraining.OUTPUTS, 1))
                .setSampling(batches)
                .build();
    }

    /// Records positions, and ends the process of rank 1 in the fourth batch of the second epoch.
    private static final class Recorder extends TrainingListenerAdapter {
        private final ElasticSampler sampler;
        private final List<String> positions;

        Recorder(ElasticSampler sampler, List<String> positions) {
            this.sampler = sampler;
            this.positions = positions;
        }

        @Override
        public void onTrainingBatch(Trainer trainer, BatchData batchData) {
            positions.add(
                    "%d/%d/%d"
                            .formatted(
                                    Hvd.membership().generation(),
                                    sampler.epoch(),
                                    sampler.processed()));
            if (Hvd.rank() == 1 && sampler.epoch() == 1 && sampler.processed() == 24) {
                Runtime.getRuntime().halt(3);
            }
        }
    }
}
