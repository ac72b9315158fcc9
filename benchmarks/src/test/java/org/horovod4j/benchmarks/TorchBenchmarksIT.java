package org.horovod4j.benchmarks;

import static org.assertj.core.api.Assertions.assertThat;

import static java.nio.charset.StandardCharsets.UTF_8;

import org.horovod4j.Hvd;
import org.horovod4j.benchmarks.runtime.GlooCheck;
import org.horovod4j.benchmarks.training.TrainingMode;
import org.horovod4j.benchmarks.training.pytorch.TorchTrainingCheck;
import org.horovod4j.libtorch.TorchRuntime;
import org.horovod4j.pytorch.HvdTorch;
import org.horovod4j.testsupport.TestJvm;
import org.junit.jupiter.api.Test;

import java.io.IOException;
import java.nio.file.Path;
import java.util.stream.Stream;

/// The benchmarks with PyTorch by Bytedeco, in a JVM without other frameworks.
class TorchBenchmarksIT {
    private static final Path LIBRARIES = Path.of("..", "frameworks", "pytorch", "target", "lib");

    /// Images differ between ranks, so weights are equal only if gradients are averaged.
    @Test
    void ranksThatTrainTogetherHaveEqualWeights() throws Exception {
        String output = run(TorchTrainingCheck.class);
        assertThat(output.lines())
                .containsAll(
                        Stream.of(TrainingMode.values())
                                .map(
                                        mode ->
                                                "%s: %d bytes, changed, %s"
                                                        .formatted(
                                                                mode,
                                                                4 * 1_199_882,
                                                                mode.communicates()
                                                                        ? "equal"
                                                                        : "different"))
                                .toList());
    }

    @Test
    void glooSumsAllTensors() throws Exception {
        String[] variants = {"gloo-native", "glooflat-native", "gloo-shared"};
        assertThat(run(GlooCheck.class, variants).lines())
                .containsAll(Stream.of(variants).map(each -> each + " sums all tensors").toList());
    }

    private static String run(Class<?> program, String... arguments)
            throws IOException, InterruptedException {
        TestJvm jvm =
                TestJvm.of(program, arguments)
                        .onClassPathOf(
                                program,
                                AllreduceBenchmark.class,
                                Hvd.class,
                                TorchRuntime.class,
                                HvdTorch.class)
                        .withJars(LIBRARIES)
                        .withVectors()
                        .with("--sun-misc-unsafe-memory-access=allow");
        ProcessBuilder builder = new ProcessBuilder(jvm.words());
        builder.environment().put("OMP_NUM_THREADS", "1");
        Process process = builder.redirectErrorStream(true).start();
        String output = new String(process.getInputStream().readAllBytes(), UTF_8);
        assertThat(process.waitFor()).as(output).isZero();
        return output;
    }
}
