package org.horovod4j.examples;

import static org.assertj.core.api.Assertions.assertThat;

import static java.nio.charset.StandardCharsets.UTF_8;

import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.Shape;

import org.bytedeco.pytorch.JitModule;
import org.bytedeco.pytorch.global.torch;
import org.horovod4j.Hvd;
import org.horovod4j.libtorch.TorchRuntime;
import org.horovod4j.pytorch.HvdTorch;
import org.horovod4j.testsupport.TestJvm;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

import java.io.File;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.Stream;

/// The examples that train with PyTorch by Bytedeco, with few data and two processes each.
class TorchExamplesIT {
    /// The class path of these tests has the JavaCPP of other frameworks.
    private static final Path LIBRARIES = Path.of("..", "frameworks", "pytorch", "target", "lib");

    private static final String[] NATIVE_ACCESS = {
        "--enable-native-access=ALL-UNNAMED", "--sun-misc-unsafe-memory-access=allow"
    };

    @TempDir private static Path digits;
    @TempDir private Path folder;

    @BeforeAll
    static void writeMnistSubset() throws IOException {
        MnistSubset.write(digits, 3000, 1000);
    }

    @Test
    void mnistLearnsAndSavesTheNetwork() throws Exception {
        assertThat(train(TorchMnist.class).output())
                .contains("images/s")
                .contains("with 2 process(es)");
        assertThat(folder.resolve("mnist.pt")).exists();
    }

    @Test
    void networkFromPythonLearnsMoreDigits() throws Exception {
        Path network = Path.of("data", "torchscript", "features.pt").toAbsolutePath();
        ExampleJob job = train(TorchFineTune.class, "--network", network.toString());
        assertThat(job.output()).contains("with 2 process(es)");
        TestJvm program =
                TestJvm.of(SavedDigits.class, folder.resolve("digits.pt").toString(), "" + digits)
                        .onClassPathOf(
                                SavedDigits.class,
                                TorchFineTune.class,
                                Hvd.class,
                                TorchRuntime.class,
                                HvdTorch.class)
                        .withJars(LIBRARIES)
                        .with(NATIVE_ACCESS);
        assertThat(output(program, 0))
                .contains("saved network: test accuracy %.2f %%".formatted(job.accuracy()));
    }

    /// Loads the network of a file and tests it.
    static final class SavedDigits {
        private SavedDigits() {}

        public static void main(String[] arguments) throws IOException {
            HvdTorch.load();
            JitModule network = torch.load(arguments[0]);
            network.eval();
            MnistData test = MnistData.read(Path.of(arguments[1]), "t10k");
            int[] all = IntStream.range(0, test.count()).toArray();
            double accuracy = 100.0 * TorchDigits.countCorrect(network, test, all) / all.length;
            IO.println("saved network: test accuracy %.2f %%".formatted(accuracy));
        }
    }

    /// Uses DJL, then PyTorch by Bytedeco.
    static final class TwoBindings {
        private TwoBindings() {}

        public static void main(String[] arguments) {
            try (NDManager manager = NDManager.newBaseManager("PyTorch")) {
                IO.println("DJL has " + manager.ones(new Shape(2, 3)).sum().getFloat());
            }
            HvdTorch.load();
        }
    }

    @Test
    void twoCopiesOfLibtorchAreRefused() throws Exception {
        String withoutBytedeco =
                Stream.of(TestJvm.CLASS_PATH.split(File.pathSeparator))
                        .filter(each -> !each.contains("bytedeco"))
                        .collect(Collectors.joining(File.pathSeparator));
        TestJvm program =
                TestJvm.of(TwoBindings.class)
                        .onClassPath(withoutBytedeco)
                        .withJars(LIBRARIES)
                        .with(NATIVE_ACCESS);
        assertThat(output(program, 1))
                .contains("DJL has 6.0")
                .contains("IllegalStateException: this process has already loaded another libtorch")
                .contains("libtorch_cpu.so");
    }

    private static String output(TestJvm program, int exitCode) throws Exception {
        ProcessBuilder builder = new ProcessBuilder(program.words()).redirectErrorStream(true);
        builder.environment().put("DJL_OFFLINE", "true");
        Process process = builder.start();
        String output = new String(process.getInputStream().readAllBytes(), UTF_8);
        assertThat(process.waitFor()).as(output).isEqualTo(exitCode);
        return output;
    }

    /// @return the job, which has ended
    private ExampleJob train(Class<?> example, String... more) throws Exception {
        List<String> arguments = new ArrayList<>(List.of(more));
        arguments.addAll(
                List.of(
                        "--data",
                        digits.toString(),
                        "--model",
                        folder.toString(),
                        "--epochs",
                        "3"));
        TestJvm program =
                TestJvm.of(example, arguments.toArray(String[]::new))
                        .onClassPathOf(example, Hvd.class, TorchRuntime.class, HvdTorch.class)
                        .withJars(LIBRARIES)
                        .with(NATIVE_ACCESS);
        try (ExampleJob job = ExampleJob.start(List.of("-np", "2"), program)) {
            job.awaitLearned();
            return job;
        }
    }
}
