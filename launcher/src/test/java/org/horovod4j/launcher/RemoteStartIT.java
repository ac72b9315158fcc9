package org.horovod4j.launcher;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import org.horovod4j.testsupport.Processes;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Set;

/// How jobs start on other hosts, through agents and a [FakeSsh]: the environment of ranks, and the
/// errors when a host, a file or a rank is not ready.
class RemoteStartIT {
    private FakeSsh ssh;

    @BeforeEach
    void createSsh(@TempDir Path folder) throws IOException {
        ssh = FakeSsh.in(folder);
    }

    @Test
    void ranksGetRankVariablesAndForwardedEnvironment() throws Exception {
        try (LauncherProcess launcher =
                ssh.start(
                        Map.of(
                                "GREETING",
                                "grüße",
                                "NCCL_DEBUG",
                                "INFO",
                                "CUDA_VISIBLE_DEVICES",
                                "0",
                                "SSH_AUTH_SOCK",
                                "x",
                                "LC_ALL",
                                "C.UTF-8"),
                        "-np",
                        "3",
                        "-H",
                        "far1.invalid:2,far2.invalid:2",
                        "sh",
                        "-c",
                        "env | grep -v SECRET; echo cuda=$CUDA_VISIBLE_DEVICES; pwd")) {
            assertThat(launcher.exitCode()).as(launcher.stderr()).isZero();
            assertThat(launcher.stdout())
                    .contains("[2]<stdout>:HOROVOD_HOSTNAME=far2.invalid\n")
                    .contains("[1]<stdout>:HOROVOD_LOCAL_RANK=1\n")
                    .contains("[2]<stdout>:GREETING=grüße\n", "[2]<stdout>:cuda=\n")
                    .contains("[2]<stdout>:NCCL_DEBUG=INFO\n")
                    .contains("[0]<stdout>:" + Path.of("").toAbsolutePath() + "\n")
                    .doesNotContain("SSH_AUTH_SOCK=x", "RENDEZVOUS_ADDR=127.");
        }
    }

    /// The agents tell that these names lead to one machine.
    @Test
    void ranksOfOneMachineAreNumberedTogetherUnderAllItsNames() throws Exception {
        try (LauncherProcess launcher =
                ssh.start(
                        "-np",
                        "3",
                        "-H",
                        "far1.invalid:1,localhost:1,far2.invalid:1",
                        "sh",
                        "-c",
                        "echo $HOROVOD_HOSTNAME $HOROVOD_LOCAL_RANK $HOROVOD_LOCAL_SIZE"
                                + " $HOROVOD_CROSS_RANK $HOROVOD_CROSS_SIZE")) {
            assertThat(launcher.exitCode()).as(launcher.stderr()).isZero();
            assertThat(launcher.stdout())
                    .contains("[0]<stdout>:far1.invalid 0 3 0 1\n")
                    .contains("[1]<stdout>:localhost 1 3 0 1\n")
                    .contains("[2]<stdout>:far2.invalid 2 3 0 1\n");
        }
    }

    @Test
    void busyHostIsRetried() throws Exception {
        ssh.busyFor(2);
        try (LauncherProcess launcher =
                ssh.start("-np", "1", "-H", "busy.invalid:1", "--verbose", "echo", "here")) {
            assertThat(launcher.exitCode()).as(launcher.stderr()).isZero();
            assertThat(launcher.stdout()).isEqualTo("[0]<stdout>:here\n");
            assertThat(launcher.stderr())
                    .containsPattern("host busy.invalid is ready, by: ssh .*-o BatchMode=yes .*");
        }
    }

    @Test
    void persistentlyBusyHostIsReported() throws Exception {
        ssh.busyFor(1000);
        try (LauncherProcess launcher =
                ssh.start("-np", "2", "-H", "busy.invalid:1,far.invalid:1", "echo", "here")) {
            assertThat(launcher.exitCode()).isOne();
            assertThat(launcher.stdout()).isEmpty();
            assertThat(launcher.stderr())
                    .contains(
                            "1 of 2 hosts are not ready",
                            "host busy.invalid is not ready: after 5 tries, no connection")
                    .contains("Connection reset by peer");
        }
    }

    @Test
    void startTimeoutEndsRetries() throws Exception {
        ssh.busyFor(1000);
        try (LauncherProcess launcher =
                ssh.start(
                        "-np",
                        "1",
                        "-H",
                        "busy.invalid:1",
                        "--start-timeout",
                        "1",
                        "echo",
                        "here")) {
            assertThat(launcher.exitCode()).isOne();
            assertThat(launcher.stderr())
                    .contains("is not ready: not ready after 1 s, while connecting to it");
        }
    }

    @Test
    void jobMayMixLocalAndRemoteHosts() throws Exception {
        try (LauncherProcess launcher =
                ssh.start(
                        "-np",
                        "2",
                        "-H",
                        "localhost:1,far.invalid:1",
                        "sh",
                        "-c",
                        "echo $HOROVOD_RENDEZVOUS_ADDR at $HOROVOD_HOSTNAME")) {
            assertThat(launcher.exitCode()).as(launcher.stderr()).isZero();
            assertThat(launcher.stdout())
                    .contains("[0]<stdout>:127.0.0.1 at localhost\n")
                    .containsPattern("\\[1]<stdout>:(?!127)\\S+ at far.invalid\n");
        }
    }

    @Test
    void secretIsOnNoCommandLineAndInNoEnvironment() throws Exception {
        String program = "echo key=$(cat $HOROVOD_SECRET_FILE); exec sleep 1000";
        try (LauncherProcess launcher =
                ssh.start("-np", "2", "-H", "far.invalid:2", "sh", "-c", program)) {
            String secret = launcher.awaitOutput("key=(\\S{43})", 2).getFirst();
            assertThat(Processes.withCommandLine(secret)).isEmpty();
            assertThat(Processes.withVariable(secret)).isEmpty();
        }
    }

    @Test
    void unreadyHostsAreListedAndNothingStarts() throws Exception {
        Path started = ssh.folder().resolve("started");
        try (LauncherProcess launcher =
                ssh.start(
                        "-np",
                        "3",
                        "-H",
                        "refused.invalid:1,far.invalid:1,denied.invalid:1",
                        "touch",
                        started.toString())) {
            assertThat(launcher.exitCode()).isOne();
            assertThat(launcher.stderr().lines().toList())
                    .satisfiesExactlyInAnyOrder(
                            line -> assertThat(line).contains("refused.invalid is not ready: it "),
                            line -> assertThat(line).contains("denied.invalid is not ready: it "),
                            line -> assertThat(line).contains("2 of 3 hosts are not ready"))
                    .last()
                    .asString()
                    .endsWith("2 of 3 hosts are not ready, so nothing was started.");
            assertThat(started).doesNotExist();
        }
    }

    /// The other host hangs until the start timeout.
    @Test
    void unreadyHostIsReportedWhileAnotherHangs() throws Exception {
        try (LauncherProcess launcher =
                ssh.start(
                        "-np",
                        "2",
                        "-H",
                        "silent.invalid:1,refused.invalid:1",
                        "--start-timeout",
                        "15",
                        "--prefix-output-with-timestamp",
                        "true")) {
            await().atMost(Duration.ofSeconds(60))
                    .until(() -> launcher.stderr().contains("host refused.invalid is not ready"));
            assertThat(launcher.isAlive()).isTrue();
            assertThat(launcher.exitCode()).isOne();
            assertThat(launcher.stderr().lines())
                    .satisfiesExactly(
                            line -> assertThat(line).contains("host refused.invalid is not ready"),
                            line -> assertThat(line).contains("host silent.invalid is not ready"),
                            line -> assertThat(line).contains("2 of 2 hosts are not ready"))
                    .allSatisfy(
                            line -> assertThat(line).matches("\\d{4}-\\d\\d-\\S+ horovodrun: .*"));
        }
    }

    @Test
    void missingProgramIsReportedBeforeStart() throws Exception {
        try (LauncherProcess launcher =
                ssh.start("-np", "1", "-H", "far.invalid:1", "no-such-command")) {
            assertThat(launcher.exitCode()).isOne();
            assertThat(launcher.stderr())
                    .contains(
                            "host far.invalid is not ready: command 'no-such-command' not found in"
                                    + " the folders");
        }
    }

    @Test
    void unreadableCopyIsReportedBeforeStart() throws Exception {
        Path inside = Files.createDirectories(ssh.folder().resolve("app/data/inside"));
        Path secret = Files.writeString(inside.resolve("secret"), "x");
        for (Path unreadable : List.of(secret, inside)) {
            Files.setPosixFilePermissions(unreadable, Set.of());
            try (LauncherProcess launcher =
                    LauncherProcess.startWithin(
                            LauncherProcess.WITHOUT_PRIVILEGES,
                            Map.of("PATH", ssh.path()),
                            "-np",
                            "1",
                            "-H",
                            "far.invalid:1",
                            "--copy",
                            ssh.folder().resolve("app").toString(),
                            "true")) {
                assertThat(launcher.exitCode()).as(launcher.stderr()).isEqualTo(2);
                assertThat(launcher.stderr().lines())
                        .singleElement()
                        .asString()
                        .contains("which is to be copied to the hosts, cannot be read")
                        .contains(unreadable.toString());
            }
            Files.setPosixFilePermissions(unreadable, PosixFilePermissions.fromString("rwx------"));
        }
    }

    /// The rank on this machine ignores SIGTERM before the start of the other rank fails.
    @Test
    void failedStartEndsStartedRanks() throws Exception {
        String program = "trap '' TERM; echo started; sleep 1006; sleep 1006";
        String some = "x".repeat(120_000);
        try (LauncherProcess launcher =
                ssh.start(
                        Map.of(
                                "SOME",
                                some,
                                "MORE",
                                some,
                                "EVEN_MORE",
                                some,
                                "DELAYED_LINE",
                                FakeSsh.delayedPipe(1500, 0)),
                        "-np",
                        "2",
                        "-H",
                        "localhost:1,full.invalid:1",
                        "sh",
                        "-c",
                        program)) {
            assertThat(launcher.exitCode()).isOne();
            assertThat(Processes.withCommandLine("sleep\0" + "1006")).isEmpty();
            assertThat(launcher.stderr())
                    .contains("cannot start the job, all that was started is ended: ")
                    .contains("Argument list too long");
        }
    }

    @Test
    void interruptedLaunchDoesNotWaitForUnreadyHost() throws Exception {
        Path waiting = ssh.folder().resolve("ssh.silent");
        try (LauncherProcess launcher =
                LauncherProcess.start(
                        InterruptedStart.class,
                        Map.of("PATH", ssh.path()),
                        "silent.invalid",
                        waiting.toString())) {
            assertThat(launcher.exitCode()).as(launcher.stderr()).isZero();
            assertThat(launcher.stdout())
                    .isEqualTo(
                            """
                            launch: the thread that launched the job was interrupted; its processes are ended
                            interrupted: true
                            """);
            await().untilAsserted(
                            () ->
                                    assertThat(Processes.withCommandLine("sleep\0" + "1004"))
                                            .isEmpty());
        }
    }
}
