package org.horovod4j.pytorch;

import static org.assertj.core.api.Assertions.assertThat;

import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch;
import org.horovod4j.testsupport.TestJvm;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;

/// Programs that start when no native library is unpacked, or with a class path that cannot work.
class ColdCacheIT {
    @TempDir private Path folder;

    /// Loads PyTorch and computes.
    static final class Program {
        private Program() {}

        public static void main(String[] arguments) {
            HvdTorch.load();
            try (Tensor ones = torch.ones(2, 3);
                    Tensor sum = ones.sum()) {
                IO.println("sum " + sum.item_float());
            }
        }
    }

    private Process start(String name, String classPath) throws IOException {
        TestJvm program =
                TestJvm.of(Program.class)
                        .onClassPath(classPath)
                        .withVectors()
                        .shortLived()
                        .with("--sun-misc-unsafe-memory-access=allow")
                        .with("-XX:-CreateCoredumpOnCrash", "-XX:ErrorFile=" + folder + "/%p.log")
                        .with("-Dorg.bytedeco.javacpp.cachedir=" + folder.resolve("cache"));
        return new ProcessBuilder(program.words())
                .redirectErrorStream(true)
                .redirectOutput(folder.resolve(name).toFile())
                .start();
    }

    /// Without the lock of [TorchLibrary], two or three of four processes crash.
    @Test
    void fourProcessesMayStartWithEmptyCache() throws Exception {
        List<Process> processes = new ArrayList<>();
        for (int i = 0; i < 4; i++) {
            processes.add(start("out" + i, TestJvm.CLASS_PATH));
        }
        for (int i = 0; i < processes.size(); i++) {
            int status = processes.get(i).waitFor();
            String output = Files.readString(folder.resolve("out" + i));
            assertThat(status).as(output).isZero();
            assertThat(output).contains("sum 6.0");
        }
    }

    @Test
    void secondJavaCppIsRefused() throws Exception {
        Path javaCpp =
                Stream.of(TestJvm.CLASS_PATH.split(File.pathSeparator))
                        .filter(each -> each.matches(".*/javacpp-[0-9.]+\\.jar"))
                        .map(Path::of)
                        .findFirst()
                        .orElseThrow();
        Path copy = Files.copy(javaCpp, folder.resolve("javacpp-other.jar"));
        String both = TestJvm.CLASS_PATH + File.pathSeparator + copy;
        assertThat(start("out", both).waitFor()).isOne();
        assertThat(Files.readString(folder.resolve("out")))
                .contains("JavaCPP is on the class path more than once", "javacpp-other.jar");
    }

    @Test
    void missingNativeLibrariesAreNamed() throws Exception {
        String without =
                Stream.of(TestJvm.CLASS_PATH.split(File.pathSeparator))
                        .filter(each -> !each.contains("linux-x86_64"))
                        .reduce((a, b) -> a + File.pathSeparator + b)
                        .orElseThrow();
        assertThat(start("out", without).waitFor()).isOne();
        assertThat(Files.readString(folder.resolve("out")))
                .contains("cannot load the native libraries of PyTorch for linux-x86_64");
    }
}
