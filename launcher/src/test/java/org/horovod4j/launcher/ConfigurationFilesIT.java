package org.horovod4j.launcher;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;

/// Files in place of flags, in real jobs.
class ConfigurationFilesIT {
    @TempDir Path folder;

    private String file(String name, String text) throws IOException {
        return Files.writeString(folder.resolve(name), text).toString();
    }

    @Test
    void jobFileRuns() throws Exception {
        String job =
                file(
                        "job.yml",
                        """
                        project: greeting
                        workers:
                          count: 2
                          processes: 2
                        environment:
                          WORD: hello
                        run: echo "$WORD from $HOROVOD_RANK of $HOROVOD_SIZE" | tr a-z A-Z
                        """);
        try (LauncherProcess launcher = LauncherProcess.start("--job", job)) {
            assertThat(launcher.exitCode()).isZero();
            assertThat(launcher.stdout().lines())
                    .containsExactlyInAnyOrder(
                            "[0]<stdout>:HELLO FROM 0 OF 4",
                            "[1]<stdout>:HELLO FROM 1 OF 4",
                            "[2]<stdout>:HELLO FROM 2 OF 4",
                            "[3]<stdout>:HELLO FROM 3 OF 4");
            assertThat(launcher.stderr()).isEmpty();
        }
    }

    @Test
    void hostWithTooFewGpusIsNamed() throws Exception {
        String job =
                file("job.yml", "workers: {processes: 1}\nresources: {gpus: 99}\nrun: echo ran\n");
        try (LauncherProcess launcher = LauncherProcess.start("--job", job)) {
            assertThat(launcher.exitCode()).isEqualTo(HorovodRun.USAGE);
            assertThat(launcher.stdout()).isEmpty();
            assertThat(launcher.stderr().lines().findFirst().orElseThrow())
                    .matches(
                            "horovodrun: localhost has \\d+ NVIDIA GPUs?, but the job file asks for 99 there .*");
        }
        try (LauncherProcess launcher = LauncherProcess.start("--job", job, "--share-gpus")) {
            assertThat(launcher.exitCode()).isZero();
            assertThat(launcher.stdout()).isEqualTo("[0]<stdout>:ran\n");
        }
    }

    @Test
    void missingJarOfTheClassPathIsNamed() throws Exception {
        try (LauncherProcess launcher =
                LauncherProcess.start("-H", "localhost", "java", "-cp", "no.jar", "Train")) {
            assertThat(launcher.exitCode()).isEqualTo(HorovodRun.FAILURE);
            assertThat(launcher.stderr())
                    .startsWith(
                            "horovodrun: the class path names no.jar, and there is no such file\n");
        }
    }

    @Test
    void unreadableConfigFileIsReportedInOneLine() throws Exception {
        String config = file("config.yml", "autotune: {enabled: true}");
        assertThat(Path.of(config).toFile().setReadable(false, false)).isTrue();
        try (LauncherProcess launcher =
                LauncherProcess.startWithin(
                        LauncherProcess.WITHOUT_PRIVILEGES,
                        Map.of(),
                        "-np",
                        "1",
                        "--config-file",
                        config,
                        "true")) {
            assertThat(launcher.exitCode()).isEqualTo(HorovodRun.USAGE);
            assertThat(launcher.stderr())
                    .isEqualTo(
                            "horovodrun: '%s' cannot be read: permission denied. Check its mode.\n"
                                    .formatted(config));
        }
    }

    @Test
    void riseMlFileRuns() throws Exception {
        String job =
                file(
                        "riseml.yml",
                        """
                        project: vision
                        train:
                          framework: tensorflow
                          tensorflow:
                            version: 1.5.0
                            horovod:
                              workers: 2
                          resources:
                            gpus: 0
                            cpus: 1
                            mem: 512
                          run:
                          - echo training
                        """);
        try (LauncherProcess launcher = LauncherProcess.start("--job", job)) {
            assertThat(launcher.exitCode()).isZero();
            assertThat(launcher.stdout())
                    .contains("[0]<stdout>:training\n", "[1]<stdout>:training\n");
        }
    }

    /// A flag overrides the file, the file overrides the environment.
    @Test
    void settingsFollowPrecedence() throws Exception {
        String config = file("config.yml", "params: {cycle_time_ms: 2, cache_capacity: 2}\n");
        try (LauncherProcess launcher =
                LauncherProcess.start(
                        Map.of(
                                "HOROVOD_CYCLE_TIME", "3",
                                "HOROVOD_CACHE_CAPACITY", "3",
                                "HOROVOD_ROUND_BYTES", "300000"),
                        "-np",
                        "1",
                        "--config-file",
                        config,
                        "--cycle-time-ms",
                        "1",
                        "sh",
                        "-c",
                        "echo $HOROVOD_CYCLE_TIME $HOROVOD_CACHE_CAPACITY $HOROVOD_ROUND_BYTES"
                                + " ${HOROVOD_AUTOTUNE-unset}")) {
            assertThat(launcher.exitCode()).isZero();
            assertThat(launcher.stdout()).isEqualTo("[0]<stdout>:1 2 300000 unset\n");
        }
    }

    @Test
    void invalidFileStartsNothing() throws Exception {
        String job = file("job.yml", "workers: 2\nrnu: echo started\n");
        try (LauncherProcess launcher = LauncherProcess.start("--job", job)) {
            assertThat(launcher.exitCode()).isEqualTo(2);
            assertThat(launcher.stdout()).isEmpty();
            assertThat(launcher.stderr())
                    .startsWith("horovodrun: %s:2: unknown key 'rnu'".formatted(job))
                    .contains("Did you mean run?");
        }
    }

    @Test
    void noticesGoToStandardError() throws Exception {
        try (LauncherProcess launcher =
                LauncherProcess.start("-np", "1", "--num-nccl-streams", "2", "echo", "done")) {
            assertThat(launcher.exitCode()).isZero();
            assertThat(launcher.stdout()).isEqualTo("[0]<stdout>:done\n");
            assertThat(launcher.stderr())
                    .startsWith("horovodrun: --num-nccl-streams: ")
                    .hasLineCount(1);
        }
    }

    @Test
    void checkBuildNeedsNoOtherFlags() throws Exception {
        try (LauncherProcess launcher = LauncherProcess.start("--check-build")) {
            assertThat(launcher.exitCode()).isZero();
            assertThat(launcher.stdout())
                    .startsWith("Horovod4J ")
                    .contains("    [X] horovod4j-core: ", "    [X] horovod4j-launcher: ")
                    .contains("    [X] horovodrun", "    [X] TCP", "    [X] vector")
                    .doesNotContain("Hosts:");
        }
    }

    @Test
    void checkBuildDescribesHosts() throws Exception {
        try (LauncherProcess launcher =
                LauncherProcess.start("--check-build", "-H", "localhost,no-such-host.invalid")) {
            assertThat(launcher.exitCode()).isZero();
            assertThat(launcher.stdout())
                    .contains("    [X] localhost: Java %s, ".formatted(Runtime.version()))
                    .contains("    [ ] no-such-host.invalid: ");
        }
    }
}
