package org.horovod4j.djl.training;

import static org.assertj.core.api.Assertions.assertThat;

import ai.djl.Model;
import ai.djl.ndarray.NDList;
import ai.djl.ndarray.NDManager;
import ai.djl.training.DefaultTrainingConfig;
import ai.djl.training.Trainer;
import ai.djl.training.dataset.Batch;
import ai.djl.training.listener.TrainingListener.BatchData;
import ai.djl.training.loss.Loss;
import ai.djl.training.optimizer.Optimizer;
import ai.djl.training.tracker.Tracker;

import org.horovod4j.djl.SmallNetwork;
import org.horovod4j.testing.World;
import org.horovod4j.training.TrainingProgress;
import org.junit.jupiter.api.Test;

import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Map;
import java.util.concurrent.atomic.AtomicLong;

class ProgressListenerTest {
    private static final int SAMPLES = 400;
    private static final int BATCH_SIZE = 10;

    private final ByteArrayOutputStream output = new ByteArrayOutputStream();
    private final AtomicLong nanos = new AtomicLong(Duration.ofDays(3).toNanos());

    @Test
    void epochLineShowsLearningRateOfLastUpdate() {
        World.run(
                1,
                comm -> {
                    Tracker rate = update -> update == 3 ? 1.25e-6f : 0.1f;
                    Optimizer adam = Optimizer.adam().optLearningRateTracker(rate).build();
                    TrainingProgress progress =
                            TrainingProgress.ofEpochs(2)
                                    .communicator(comm)
                                    .output(
                                            new PrintStream(output, true, StandardCharsets.UTF_8),
                                            false)
                                    .clock(nanos::get)
                                    .build();
                    ProgressListener listener =
                            new ProgressListener(progress).learningRate(adam, rate);
                    try (Model model = SmallNetwork.initialised();
                            Trainer trainer =
                                    model.newTrainer(new DefaultTrainingConfig(Loss.l2Loss()))) {
                        epoch(listener, trainer);
                        SmallNetwork.train(model, adam, 3);
                        epoch(listener, trainer);
                        listener.onTrainingEnd(trainer);
                    }
                    assertThat(output.toString(StandardCharsets.UTF_8).lines())
                            .contains(
                                    "epoch 1/2 [==                      ]  10 % | 10.0 images/s |"
                                            + " 1 min 15 s left")
                            .filteredOn(line -> line.contains("done") || line.contains("trained"))
                            .containsExactly(
                                    "epoch 1/2 done in 39.0 s | 10.0 images/s", // without updates
                                    "epoch 2/2 done in 40.0 s | 10.0 images/s"
                                            + " | learning rate 1.25e-06",
                                    "trained on 800 images in 1 min 19 s | 10.0 images/s in all");
                });
    }

    /// All batches of an epoch, one per second.
    private void epoch(ProgressListener listener, Trainer trainer) {
        try (NDManager manager = NDManager.newBaseManager("PyTorch")) {
            for (int batch = 0; batch < SAMPLES / BATCH_SIZE; batch++) {
                nanos.addAndGet(Duration.ofSeconds(1).toNanos());
                listener.onTrainingBatch(
                        trainer,
                        new BatchData(
                                new Batch(
                                        manager.newSubManager(),
                                        new NDList(),
                                        new NDList(),
                                        BATCH_SIZE,
                                        null,
                                        null,
                                        0,
                                        SAMPLES),
                                Map.of(),
                                Map.of()));
            }
        }
        listener.onEpoch(trainer);
    }
}
