package org.horovod4j.launcher.check;

import static org.assertj.core.api.Assertions.assertThat;

import static java.nio.charset.StandardCharsets.UTF_8;

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
        return new BuildReport(environment).text("1.2", List.of(command));
    }

    @Test
    void frameworksAreFoundOnTheClassPathOfACommand() throws Exception {
        frameworks();
        String text = report(Map.of(), "java", "-cp", folder + "/*:classes", "Train");
        assertThat(text)
                .startsWith("Horovod4J 1.2\nJava ")
                .contains(
                        "Frameworks found (-cp of the command, 5 jars):\n",
                        "    [X] DJL: API 0.33.0, PyTorch engine 0.33.0\n",
                        "    [X] TensorFlow Java: API 1.0.0\n",
                        "    [X] DL4J: networks 1.0.0-M2.1\n",
                        "    [ ] MXNet\n");
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
                .contains("[X] TensorFlow Java");
    }

    @Test
    void classPathDefaultsToEnvironment() throws Exception {
        frameworks();
        assertThat(report(Map.of("CLASSPATH", folder + "/tf.jar")))
                .contains("Frameworks found (CLASSPATH, 1 jars)", "[X] TensorFlow Java");
        assertThat(report(Map.of())).contains("[ ] TensorFlow Java");
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
