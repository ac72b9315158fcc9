package org.horovod4j.launcher.check;

import static org.assertj.core.api.Assertions.assertThat;

import static java.nio.charset.StandardCharsets.UTF_8;

import org.horovod4j.launcher.process.HostMachine;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.jar.JarOutputStream;
import java.util.zip.ZipEntry;

class BuildReportTest {
    @TempDir Path folder;

    private Path jar(String name, String entry, String text) throws IOException {
        Path file = folder.resolve(name);
        try (JarOutputStream jar = new JarOutputStream(Files.newOutputStream(file))) {
            jar.putNextEntry(new ZipEntry(entry));
            jar.write(text.getBytes(UTF_8));
            jar.closeEntry();
        }
        return file;
    }

    /// Jars like the real ones, identified by coordinates, by manifest, or only by file name.
    private void frameworks() throws IOException {
        jar(
                "tf.jar",
                "META-INF/maven/org.tensorflow/tensorflow-core-api/pom.properties",
                "groupId=org.tensorflow\nartifactId=tensorflow-core-api\nversion=1.0.0\n");
        jar(
                "djl.jar",
                "META-INF/MANIFEST.MF",
                "Manifest-Version: 1.0\nAutomatic-Module-Name: ai.djl.api\nSpecification-Version: 0.33.0\n\n");
        jar("pytorch-engine-0.33.0.jar", "x", "");
        jar("deeplearning4j-nn-1.0.0-M2.1.jar", "x", "");
        jar("api-9.jar", "x", ""); // of another project
    }

    private String report(Map<String, String> environment, String... command)
            throws InterruptedException {
        return new BuildReport(environment).text("1.2", List.of(command), List.of());
    }

    @Test
    void frameworksAreFoundOnTheClassPathOfACommand() throws Exception {
        frameworks();
        String text = report(Map.of(), "java", "-cp", folder + "/*:classes", "Train");
        assertThat(text)
                .startsWith("Horovod4J 1.2\nJava ")
                .contains(
                        "Modules of Horovod4J (-cp of the command, 5 jars):\n",
                        "    [ ] horovod4j-core: collectives\n",
                        "    [ ] DJL: API 0.33.0, PyTorch engine 0.33.0; add horovod4j-djl to train with it\n",
                        "    [ ] TensorFlow Java: API 1.0.0; add horovod4j-tensorflow to train with it\n",
                        "    [ ] DL4J: networks 1.0.0-M2.1; add horovod4j-dl4j to train with it\n",
                        "    [ ] MXNet\n",
                        "    [X] CPU: all collectives",
                        "    [ ] MISSING: libmissing.so was not found\n");
    }

    @Test
    void ownModulesAreFoundInJarsAndFolders() throws Exception {
        jar("horovod4j-core-1.5.jar", "org/horovod4j/Hvd.class", "");
        jar("pytorch-engine-%s.jar".formatted(FrameworkLibrary.TESTED_DJL), "x", "");
        Path classes = folder.resolve("classes/org/horovod4j/djl");
        Files.createDirectories(classes);
        Files.createFile(classes.resolve("DistributedOptimizer.class"));
        String path = "%s/*:%<s/classes".formatted(folder);
        assertThat(report(Map.of(), "java", "-cp", path, "Train"))
                .contains(
                        "    [X] horovod4j-core: 1.5 (collectives)\n",
                        "    [ ] horovod4j-cuda: ",
                        "    [ ] horovod4j-nccl: ",
                        "    [ ] horovod4j-libtorch: ",
                        "    [X] horovod4j-djl: built from source (training with DJL)\n",
                        "    [X] DJL: PyTorch engine %s; tested\n"
                                .formatted(FrameworkLibrary.TESTED_DJL));
        jar(
                "api-0.33.0.jar",
                "META-INF/maven/ai.djl/api/pom.properties",
                "groupId=ai.djl\nartifactId=api\nversion=0.33.0\n");
        assertThat(report(Map.of(), "java", "-cp", path, "Train"))
                .contains("    [X] DJL: API 0.33.0, PyTorch engine", "; tested is only ");
        jar("horovod4j-tensorflow-1.5.jar", "org/horovod4j/tensorflow/HvdTensorFlow.class", "");
        jar("tensorflow-core-api-1.0.0.jar", "x", "");
        jar("horovod4j-pytorch-1.5.jar", "org/horovod4j/pytorch/HvdTorch.class", "");
        jar("pytorch-%s.jar".formatted(FrameworkLibrary.TESTED_PYTORCH), "x", "");
        assertThat(report(Map.of(), "java", "-cp", path, "Train"))
                .contains(
                        "    [X] horovod4j-pytorch: 1.5 (training with PyTorch by Bytedeco)\n",
                        "    [X] PyTorch by Bytedeco: API %s; tested\n"
                                .formatted(FrameworkLibrary.TESTED_PYTORCH),
                        "    [X] horovod4j-tensorflow: 1.5 (training with TensorFlow Java)\n",
                        "    [X] TensorFlow Java: API 1.0.0; tested is only %s; "
                                .formatted(FrameworkLibrary.TESTED_TENSORFLOW));
        jar("horovod4j-dl4j-1.5.jar", "org/horovod4j/dl4j/HvdDl4j.class", "");
        jar("deeplearning4j-nn-%s.jar".formatted(FrameworkLibrary.TESTED_DL4J), "x", "");
        assertThat(report(Map.of(), "java", "-cp", path, "Train"))
                .contains(
                        "    [X] DL4J: networks %s; tested\n"
                                .formatted(FrameworkLibrary.TESTED_DL4J));
    }

    /// A test of the module for TensorFlow has the real one.
    @Test
    void saysWhyTheKernelsOfTensorFlowAreUnknown() throws Exception {
        jar("horovod4j-tensorflow-1.5.jar", "org/horovod4j/tensorflow/HvdTensorFlow.class", "");
        jar("tensorflow-core-api-%s.jar".formatted(FrameworkLibrary.TESTED_TENSORFLOW), "x", "");
        assertThat(report(Map.of(), "java", "-cp", folder + "/*", "Train"))
                .containsPattern(
                        "; tested; kernels unknown: \\S+KernelCheck fails with exit code 1 \\(.*ClassNotFound.*\\)\n");
    }

    @Test
    void testedVersionIsThatOfTheBuild() throws Exception {
        assertThat(Path.of("../pom.xml"))
                .content()
                .contains(
                        "<djl.version>%s<".formatted(FrameworkLibrary.TESTED_DJL),
                        "<pytorch.version>%s<".formatted(FrameworkLibrary.TESTED_PYTORCH),
                        "<tensorflow.version>%s<".formatted(FrameworkLibrary.TESTED_TENSORFLOW),
                        "<dl4j.version>%s<".formatted(FrameworkLibrary.TESTED_DL4J));
    }

    @Test
    void hostsAreDescribed() throws Exception {
        assertThat(
                        new BuildReport(Map.of())
                                .text(
                                        "1.2",
                                        List.of(),
                                        List.of(
                                                new BuildReport.HostState(
                                                        "a",
                                                        new HostMachine("", 64, 8, "25.0.1"),
                                                        ""),
                                                new BuildReport.HostState(
                                                        "b", null, "it has no java"))))
                .endsWith(
                        """
                        Hosts:
                            [X] a: Java 25.0.1, 64 processors, 8 NVIDIA GPUs
                            [ ] b: it has no java
                        """);
    }

    @Test
    void classPathWithoutCommandIsThatOfHorovodrun() throws Exception {
        assertThat(report(Map.of()))
                .contains("Modules of Horovod4J (class path of horovodrun itself, ");
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "java -classpath %s/tf.jar Train",
                "java --class-path %s/tf.jar Train",
                "java --class-path=%s/tf.jar Train",
                "java -jar %s/tf.jar",
                "java -jar %s/app.jar",
            })
    void classPathIsReadFromAllFlags(String command) throws Exception {
        frameworks();
        jar("app.jar", "META-INF/MANIFEST.MF", "Manifest-Version: 1.0\nClass-Path: tf.jar\n\n");
        assertThat(report(Map.of(), command.formatted(folder).split(" ")))
                .contains("TensorFlow Java: API 1.0.0; add");
    }

    @Test
    void classPathDefaultsToEnvironment() throws Exception {
        frameworks();
        assertThat(report(Map.of("CLASSPATH", folder + "/tf.jar")))
                .contains("(CLASSPATH, 1 jar)", "TensorFlow Java: API 1.0.0; add");
        assertThat(report(Map.of())).contains("[ ] TensorFlow Java\n");
    }

    @Test
    void aBrokenJarIsNamed() throws Exception {
        Path broken = Files.writeString(folder.resolve("broken.jar"), "no zip");
        assertThat(report(Map.of("CLASSPATH", broken.toString())))
                .contains("[ ] %s: cannot be read".formatted(broken));
    }

    private void tool(String name, String script) throws IOException {
        Path file = Files.writeString(folder.resolve(name), "#!/bin/sh\n" + script + "\n");
        assertThat(file.toFile().setExecutable(true)).isTrue();
    }

    @Test
    void toolVersionsAreReported() throws Exception {
        tool("mpirun", "echo \"some MPI $1\"; echo more");
        tool("srun", "exit 3");
        tool("nvidia-smi", "echo 'GPU 0: H200'; echo 'GPU 1: H200'");
        assertThat(report(Map.of("PATH", folder + ":/bin")))
                .contains(
                        "    [X] horovodrun: ",
                        "    [X] MPI: %s/mpirun, some MPI --version\n".formatted(folder),
                        "    [ ] Slurm: %s/srun fails with exit code 3\n".formatted(folder),
                        "    [X] NVIDIA GPUs: 2\n");
    }

    @Test
    void lastCauseOfAnExceptionIsReported() throws Exception {
        tool(
                "mpirun",
                """
                echo 'Exception in thread "main" java.lang.Error: outer'
                echo '    at Outer.main'
                echo 'Caused by: java.io.IOException: inner'
                echo '    ... 5 more'
                exit 1""");
        tool(
                "srun",
                """
                echo 'Exception in thread "main" java.lang.Error: only'
                echo '    at Only.main'
                exit 2""");
        assertThat(report(Map.of("PATH", folder + ":/bin")))
                .contains(
                        "mpirun fails with exit code 1 (Caused by: java.io.IOException: inner)\n",
                        "srun fails with exit code 2 (Exception in thread \"main\" java.lang.Error: only)\n");
    }

    @Test
    void missingToolsAreReported() throws Exception {
        assertThat(report(Map.of("PATH", "/none", "HOROVOD_SHM_FOLDER", "/none")))
                .contains(
                        "    [ ] MPI: no mpirun on the PATH\n",
                        "    [ ] Slurm: no srun on the PATH\n",
                        "    [ ] NVIDIA GPUs: no nvidia-smi on the PATH\n",
                        "    [ ] shared memory: /none is not writable",
                        "    [X] TCP\n",
                        "    [X] vector: jdk.incubator.vector\n",
                        "    [X] scalar\n");
    }
}
