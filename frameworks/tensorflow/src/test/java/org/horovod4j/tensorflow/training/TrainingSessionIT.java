package org.horovod4j.tensorflow.training;

import static org.assertj.core.api.Assertions.assertThat;

import org.horovod4j.Communicator;
import org.horovod4j.Hvd;
import org.horovod4j.launcher.Launcher;
import org.horovod4j.tensorflow.Adam;
import org.horovod4j.tensorflow.HvdTensorFlow;
import org.horovod4j.testsupport.TestJvm;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

import java.nio.file.Path;
import java.util.List;
import java.util.Map;

/// Two processes that use `Hvd`, as programs do.
class TrainingSessionIT {
    @TempDir Path folder;

    /// Each part with other kernels.
    @Test
    void jobContinuesFromTheCheckpointOfAnother() {
        Path whole = folder.resolve("whole");
        Path parts = folder.resolve("parts");
        List<float[]> expected = job(whole, 40, "async");
        List<float[]> _ = job(parts, 15, "fetch");
        List<float[]> _ = job(parts, 25, "blocking");
        List<float[]> resumed = job(parts, 40, "fetch");

        assertThat(expected.get(0)).containsExactly(expected.get(1));
        assertThat(resumed.get(0)).containsExactly(expected.get(0));
        assertThat(resumed.get(1)).containsExactly(expected.get(0));
    }

    private static List<float[]> job(Path checkpoints, int lastStep, String kernels) {
        String path = checkpoints.toString();
        return Launcher.processes(2)
                .jvmOptions(TestJvm.SHORT_LIVED)
                .options(Map.of("HOROVOD_TENSORFLOW_KERNELS", kernels))
                .run(comm -> train(comm, Path.of(path), lastStep));
    }

    private static float[] train(Communicator comm, Path checkpoints, int lastStep) {
        try (LinearModel model =
                        new LinearModel(
                                comm.rank(),
                                graph ->
                                        HvdTensorFlow.distributed(
                                                new Adam(graph, 0.01f * Hvd.size())));
                TrainingSession training =
                        TrainingSession.of(model.graph, model.trainOp)
                                .checkpoints(checkpoints)
                                .saveEvery(10)
                                .stopAtStep(lastStep)
                                .hook(MetricLog.every(10).metric("loss", model.loss))
                                .start()) {
            while (!training.shouldStop()) {
                model.run(training, comm.rank());
            }
            return model.weights(training);
        }
    }
}
