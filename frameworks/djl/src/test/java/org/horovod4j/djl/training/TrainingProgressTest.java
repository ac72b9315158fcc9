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

import org.horovod4j.Communicator;
import org.horovod4j.djl.SmallNetwork;
import org.horovod4j.testing.World;
import org.junit.jupiter.api.Test;

import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicLong;

class TrainingProgressTest {
    private static final int SAMPLES = 400;
    private static final int BATCH_SIZE = 10;

    @Test
    void rankZeroReportsWholeJob() {
        World.run(
                2,
                comm -> {
                    List<String> lines = train(comm, false).lines().toList();
                    if (comm.rank() != 0) {
                        assertThat(lines).isEmpty();
                        return;
                    }
                    // 20 batches of 10 on each rank, one in a second: 20 images a second in all.
                    assertThat(lines.get(0))
                            .isEqualTo(
                                    "epoch 1/2 [==                      ]  10 % | 20.0 images/s | "
                                            + "38.0 s left");
                    assertThat(lines).filteredOn(line -> line.contains("left")).hasSize(20);
                    assertThat(lines)
                            .contains(
                                    "epoch 1/2 done in 19.0 s | 20.0 images/s",
                                    "epoch 2/2 done in 20.0 s | 20.0 images/s");
                    assertThat(lines.getLast())
                            .isEqualTo(
                                    "trained on 800 images in 39.0 s | 20.0 images/s in all, "
                                            + "10.0 on each of 2 ranks | scaling efficiency 80.0 % "
                                            + "of 2 x 12.5 images/s");
                });
    }

    @Test
    void terminalRedrawsBar() {
        World.run(
                1,
                comm -> {
                    String text = train(comm, true);
                    assertThat(text.chars().filter(c -> c == '\n').count()).isEqualTo(3);
                    assertThat(text)
                            .startsWith("\r\u001b[Kepoch 1/2 [=")
                            .contains("\r\u001b[Kepoch 2/2 done in ")
                            .contains(" 100 % | ");
                });
    }

    @Test
    void resumedTrainingContinuesEpochCount() {
        World.run(
                1,
                comm -> {
                    Recording recording = new Recording();
                    TrainingProgress trainingProgress = recording.progress(comm, false);
                    trainingProgress.resumeAt(1);
                    try (Model model = SmallNetwork.model();
                            Trainer trainer =
                                    model.newTrainer(new DefaultTrainingConfig(Loss.l2Loss()))) {
                        recording.epoch(trainingProgress, trainer, comm);
                    }
                    assertThat(recording.text())
                            .contains("epoch 2/2 [")
                            .contains("epoch 2/2 done")
                            .contains("] 100 % | 10.0 images/s | 0.0 s left");
                });
    }

    @Test
    void epochLineShowsLearningRateOfLastUpdate() {
        World.run(
                1,
                comm -> {
                    Recording recording = new Recording();
                    Tracker rate = update -> update == 3 ? 1.25e-6f : 0.1f;
                    Optimizer adam = Optimizer.adam().optLearningRateTracker(rate).build();
                    TrainingProgress trainingProgress =
                            recording.builder(comm, false).learningRate(adam, rate).build();
                    try (Model model = SmallNetwork.initialised();
                            Trainer trainer =
                                    model.newTrainer(new DefaultTrainingConfig(Loss.l2Loss()))) {
                        recording.epoch(trainingProgress, trainer, comm);
                        SmallNetwork.train(model, adam, 3);
                        recording.epoch(trainingProgress, trainer, comm);
                    }
                    assertThat(recording.text().lines())
                            .filteredOn(line -> line.contains("done"))
                            .containsExactly(
                                    "epoch 1/2 done in 39.0 s | 10.0 images/s", // without updates
                                    "epoch 2/2 done in 40.0 s | 10.0 images/s"
                                            + " | learning rate 1.25e-06");
                });
    }

    private static String train(Communicator comm, boolean isTerminal) {
        Recording recording = new Recording();
        TrainingProgress trainingProgress = recording.progress(comm, isTerminal);
        try (Model model = SmallNetwork.model();
                Trainer trainer = model.newTrainer(new DefaultTrainingConfig(Loss.l2Loss()))) {
            trainingProgress.onTrainingBegin(trainer);
            recording.epoch(trainingProgress, trainer, comm);
            recording.epoch(trainingProgress, trainer, comm);
            trainingProgress.onTrainingEnd(trainer);
        }
        return recording.text();
    }

    private static final class Recording {
        private final ByteArrayOutputStream output = new ByteArrayOutputStream();
        private final AtomicLong nanos = new AtomicLong(Duration.ofDays(3).toNanos());

        TrainingProgress progress(Communicator comm, boolean isTerminal) {
            return builder(comm, isTerminal).build();
        }

        TrainingProgress.Builder builder(Communicator comm, boolean isTerminal) {
            return TrainingProgress.ofEpochs(2)
                    .singleProcessThroughput(12.5)
                    .communicator(comm)
                    .output(new PrintStream(output, true, StandardCharsets.UTF_8), isTerminal)
                    .clock(nanos::get);
        }

        /// As many batches as a rank has, one in each second.
        void epoch(TrainingProgress trainingProgress, Trainer trainer, Communicator comm) {
            try (NDManager manager = NDManager.newBaseManager("PyTorch")) {
                for (int batch = 0; batch < SAMPLES / BATCH_SIZE / comm.size(); batch++) {
                    nanos.addAndGet(Duration.ofSeconds(1).toNanos());
                    trainingProgress.onTrainingBatch(
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
            trainingProgress.onEpoch(trainer);
        }

        String text() {
            return output.toString(StandardCharsets.UTF_8);
        }
    }
}
