package org.horovod4j.training;

import static org.assertj.core.api.Assertions.assertThat;

import org.horovod4j.Communicator;
import org.horovod4j.testing.World;
import org.horovod4j.training.TrainingProgress.Metric;
import org.junit.jupiter.api.Test;

import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.OptionalDouble;
import java.util.OptionalLong;
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
                    // 20 batches of 10 on each rank, one per second: 20 images per second in all.
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
                    Recording recording = new Recording(comm, false);
                    recording.progress.resumeAt(1);
                    recording.batches();
                    recording.progress.epochDone();
                    assertThat(recording.text())
                            .contains("epoch 2/2 [")
                            .contains("epoch 2/2 done")
                            .contains("] 100 % | 10.0 images/s | 0.0 s left");
                });
    }

    @Test
    void epochLineShowsMetricsAndLearningRate() {
        World.run(
                1,
                comm -> {
                    Recording recording = new Recording(comm, false);
                    recording.batches();
                    recording.progress.epochDone(
                            () -> List.of(new Metric("loss", 0.25)),
                            () -> OptionalDouble.of(1.25e-6));
                    assertThat(recording.text().lines())
                            .contains(
                                    "epoch 1/2 done in 39.0 s | 10.0 images/s | loss 0.2500"
                                            + " | learning rate 1.25e-06");
                });
    }

    private static String train(Communicator comm, boolean isTerminal) {
        Recording recording = new Recording(comm, isTerminal);
        for (int epoch = 0; epoch < 2; epoch++) {
            recording.batches();
            recording.progress.epochDone();
        }
        recording.progress.trainingDone();
        return recording.text();
    }

    private static final class Recording {
        private final ByteArrayOutputStream output = new ByteArrayOutputStream();
        private final AtomicLong nanos = new AtomicLong(Duration.ofDays(3).toNanos());
        private final int batches;
        private final TrainingProgress progress;

        Recording(Communicator comm, boolean isTerminal) {
            batches = SAMPLES / BATCH_SIZE / comm.size();
            progress =
                    TrainingProgress.ofEpochs(2)
                            .singleProcessThroughput(12.5)
                            .communicator(comm)
                            .output(
                                    new PrintStream(output, true, StandardCharsets.UTF_8),
                                    isTerminal)
                            .clock(nanos::get)
                            .build();
        }

        /// All batches of one rank, one per second.
        void batches() {
            for (int batch = 0; batch < batches; batch++) {
                nanos.addAndGet(Duration.ofSeconds(1).toNanos());
                progress.batchDone(BATCH_SIZE, OptionalLong.of(SAMPLES), List::of);
            }
        }

        String text() {
            return output.toString(StandardCharsets.UTF_8);
        }
    }
}
