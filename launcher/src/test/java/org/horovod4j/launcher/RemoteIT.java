package org.horovod4j.launcher;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.IntStream;

/// Jobs through agents, with a stand-in for ssh that runs its command on this machine. What only a
/// real ssh and real hosts can show is in [SshHostsIT].
class RemoteIT {
    private static final Duration PATIENCE = Duration.ofSeconds(60);

    /// Complains as ssh does about two hosts, and logs in to the others.
    private static final String STAND_IN =
            """
            #!/bin/sh
            for word do host=$command; command=$word; done
            case $host in
                refused.invalid)
                    echo "ssh: connect to host $host port 22: Connection refused" >&2
                    exit 255 ;;
                denied.invalid)
                    echo "me@$host: Permission denied (publickey)." >&2
                    exit 255 ;;
                silent.invalid)
                    touch "$0.silent"
                    exec sleep 1004 ;;
                distant.invalid)
                    env -i HOME="$HOME" PATH=/usr/bin:/bin sh -c "$command" | $DELAYED_LINE
                    exit ;;
                full.invalid) # its environment is so large that little more fits in
                    ulimit -s 8192
                    env -i HOME="$HOME" PATH=/usr/bin:/bin sh -c '
                        some=$(head -c 122880 /dev/zero | tr "\\0" x)
                        for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15; do export "V$i=$some"; done
                        sh -c "$0"' "$command" | $DELAYED_LINE
                    exit ;;
            esac
            exec env -i HOME="$HOME" PATH=/usr/bin:/bin sh -c "$command"
            """;

    /// Takes from root what lets it read any file; others have not got it.
    static final List<String> WITHOUT_PRIVILEGES =
            List.of(
                    "sh",
                    "-c",
                    "[ $(id -u) = 0 ] || exec \"$@\"; exec setpriv --inh-caps -all"
                            + " --bounding-set -dac_override,-dac_read_search \"$@\"",
                    "sh");

    @TempDir Path folder;

    @BeforeEach
    void standIn() throws IOException {
        Path ssh = folder.resolve("ssh");
        Files.writeString(ssh, STAND_IN);
        assertThat(ssh.toFile().setExecutable(true)).isTrue();
    }

    private LauncherProcess start(Map<String, String> variables, String... arguments)
            throws IOException {
        Map<String, String> all = new HashMap<>(variables);
        all.put("PATH", path());
        return LauncherProcess.start(all, arguments);
    }

    /// As the stand-in for ssh runs it.
    private static String delayedLine(int millis, int fromByte) {
        return String.join(
                " ",
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "-cp",
                System.getProperty("java.class.path"),
                DelayedLine.class.getName(),
                Integer.toString(millis),
                Integer.toString(fromByte));
    }

    private String path() {
        return folder + ":" + System.getenv("PATH");
    }

    private LauncherProcess start(String... arguments) throws IOException {
        return start(Map.of(), arguments);
    }

    @Test
    void ranksSeeTheirPlaceAndTheForwardedEnvironment() throws Exception {
        try (LauncherProcess launcher =
                start(
                        Map.of(
                                "GREETING",
                                "grüße",
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
                    .contains("[0]<stdout>:" + Path.of("").toAbsolutePath() + "\n")
                    .doesNotContain("SSH_AUTH_SOCK=x", "RENDEZVOUS_ADDR=127.");
        }
    }

    @Test
    void aJobMayMixThisMachineAndOthers() throws Exception {
        try (LauncherProcess launcher =
                start(
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
    void muchOutputComesInOrder() throws Exception {
        try (LauncherProcess launcher =
                start(
                        "-np",
                        "3",
                        "-H",
                        "far1.invalid:2,far2.invalid:1",
                        "java",
                        "-cp",
                        System.getProperty("java.class.path"),
                        Chatter.class.getName(),
                        "20000")) {
            assertThat(launcher.exitCode()).as(launcher.stderr()).isZero();
            List<String> lines = launcher.stdout().lines().toList();
            assertThat(lines).hasSize(3 * 20_000);
            for (int rank = 0; rank < 3; rank++) {
                String prefix = "[" + rank + "]<stdout>:";
                assertThat(lines.stream().filter(line -> line.startsWith(prefix)))
                        .containsExactlyElementsOf(
                                IntStream.range(0, 20_000)
                                        .mapToObj(line -> prefix + Chatter.line(line))
                                        .toList());
            }
            assertThat(launcher.stderr()).isEmpty();
        }
    }

    @Test
    void outputThatNobodyReadsForLongCostsNoHost() throws Exception {
        // The reader of the launcher's output stops for four times the heartbeat timeout, with far
        // more to come than all buffers hold.
        Path out = folder.resolve("out");
        run(
                shell(
                        "\"$@\" 2>\"$0.err\" | { read -r first; sleep 4; wc -c; } >\"$0\"",
                        out,
                        "-np",
                        "1",
                        "-H",
                        "far.invalid:1",
                        "--heartbeat-timeout",
                        "1",
                        "sh",
                        "-c",
                        "echo; head -c 3000000 /dev/zero | tr '\\0' '\\n'"));
        assertThat(Path.of(out + ".err")).isEmptyFile();
        assertThat(Files.readString(out).strip())
                .isEqualTo(Integer.toString(3_000_000 * "[0]<stdout>:\n".length()));
    }

    /// A shell that runs a launcher as `"$@"`.
    ///
    /// @param file its `$0`
    private ProcessBuilder shell(String script, Path file, String... arguments) {
        List<String> command =
                new ArrayList<>(
                        List.of(
                                "sh",
                                "-c",
                                script,
                                file.toString(),
                                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                                "-cp",
                                System.getProperty("java.class.path"),
                                HorovodRun.class.getName()));
        command.addAll(List.of(arguments));
        ProcessBuilder builder = new ProcessBuilder(command);
        builder.environment().put("PATH", path());
        return builder;
    }

    private static void run(ProcessBuilder builder) throws IOException {
        Process process = builder.start();
        try {
            await().atMost(PATIENCE).until(() -> !process.isAlive());
        } finally {
            process.destroyForcibly();
        }
    }

    /// More than may be under way at once: the rest sets out once the reader of the launcher's
    /// output goes on, when all has ended long since, and takes longer than a pipe may be silent
    /// and than an agent may take to end.
    @Tag("slow")
    @Test
    void whatRanksPrintLastComesOverADistantLine() throws Exception {
        Path out = folder.resolve("out");
        ProcessBuilder builder =
                shell(
                        "\"$@\" 2>\"$0.err\" | { read -r first; sleep 18; tail -n 1; } >\"$0\"",
                        out,
                        "-np",
                        "1",
                        "-H",
                        "distant.invalid:1",
                        "--heartbeat-timeout",
                        "60",
                        "sh",
                        "-c",
                        "echo; head -c 300000 /dev/zero | tr '\\0' '\\n'; echo last words");
        builder.environment().put("DELAYED_LINE", delayedLine(8000, 100_000));
        run(builder);
        assertThat(Path.of(out + ".err")).isEmptyFile();
        assertThat(out).hasContent("[0]<stdout>:last words");
    }

    @Test
    void aStreamThatSomebodyElseHoldsOpenDoesNotHoldUpTheEnd() throws Exception {
        // Without the mark of the job, nothing of it can know this process.
        String program = "env -i setsid sleep 1005 & echo pid=$!; echo last words";
        try (LauncherProcess launcher =
                start("-np", "1", "-H", "far.invalid:1", "sh", "-c", program)) {
            String pid = launcher.awaitOutput("pid=(\\d+)", 1).getFirst();
            try {
                assertThat(launcher.exitCode()).as(launcher.stderr()).isZero();
                assertThat(launcher.stdout()).contains("[0]<stdout>:last words\n");
            } finally {
                Processes.signal("KILL", Long.parseLong(pid));
            }
        }
    }

    /// The rank on this machine ignores SIGTERM, before it is known that the other was not started.
    @Test
    void whenARankCannotBeStartedThoseThatWereAreEndedBeforeItIsTold() throws Exception {
        String program = "trap '' TERM; echo started; sleep 1006; sleep 1006";
        String some = "x".repeat(120_000);
        try (LauncherProcess launcher =
                start(
                        Map.of(
                                "SOME",
                                some,
                                "MORE",
                                some,
                                "EVEN_MORE",
                                some,
                                "DELAYED_LINE",
                                delayedLine(1500, 0)),
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
    void anInterruptedLaunchDoesNotWaitForAHostThatIsNotReady() throws Exception {
        Path waiting = folder.resolve("ssh.silent");
        try (LauncherProcess launcher =
                LauncherProcess.start(
                        InterruptedStart.class,
                        Map.of("PATH", path()),
                        "silent.invalid",
                        waiting.toString())) {
            assertThat(launcher.exitCode()).as(launcher.stderr()).isZero();
            assertThat(launcher.stdout())
                    .isEqualTo(
                            """
                            launch: the thread that launched the job was interrupted; its processes are ended
                            interrupted: true
                            """);
            assertThat(Processes.withCommandLine("sleep\0" + "1004")).isEmpty();
        }
    }

    @Test
    void aCopyThatCannotBeReadIsToldBeforeAnythingIsStarted() throws Exception {
        Path inside = Files.createDirectories(folder.resolve("app/data/inside"));
        Path secret = Files.writeString(inside.resolve("secret"), "x");
        for (Path unreadable : List.of(secret, inside)) {
            Files.setPosixFilePermissions(unreadable, Set.of());
            try (LauncherProcess launcher =
                    LauncherProcess.startWithin(
                            WITHOUT_PRIVILEGES,
                            Map.of("PATH", path()),
                            "-np",
                            "1",
                            "-H",
                            "far.invalid:1",
                            "--copy",
                            folder.resolve("app").toString(),
                            "true")) {
                assertThat(launcher.exitCode()).as(launcher.stderr()).isEqualTo(2);
                assertThat(launcher.stderr().lines())
                        .singleElement()
                        .asString()
                        .contains("which the hosts are to get a copy of, cannot be read")
                        .contains(unreadable.toString());
            }
            Files.setPosixFilePermissions(unreadable, PosixFilePermissions.fromString("rwx------"));
        }
    }

    @Test
    void theFirstFailureIsToldWithItsLastWords() throws Exception {
        try (LauncherProcess launcher =
                start(
                        "-np",
                        "4",
                        "-H",
                        "far1.invalid:2,far2.invalid:2",
                        "sh",
                        "-c",
                        "echo job=$HOROVOD_JOB_ID; [ $HOROVOD_RANK != 3 ] || { echo disk full >&2;"
                                + " exit 3; }; exec sleep 1000")) {
            assertThat(launcher.exitCode()).isOne();
            assertThat(launcher.stderr())
                    .contains("First to fail was rank 3 on far2.invalid", "exit code 3")
                    .contains("    disk full\n", "The other processes had ended");
            assertThat(Processes.ofJob(launcher.awaitJobId())).isEmpty();
        }
    }

    @Test
    void eachHostThatIsNotReadyGetsALineAndNothingIsStarted() throws Exception {
        Path started = folder.resolve("started");
        try (LauncherProcess launcher =
                start(
                        "-np",
                        "3",
                        "-H",
                        "refused.invalid:1,far.invalid:1,denied.invalid:1",
                        "touch",
                        started.toString())) {
            assertThat(launcher.exitCode()).isOne();
            assertThat(launcher.stderr().lines().toList())
                    .satisfiesExactly(
                            first -> assertThat(first).contains("2 of 3 hosts are not ready"),
                            second -> assertThat(second).contains("refused.invalid: it refuses"),
                            third -> assertThat(third).contains("denied.invalid: it does not let"));
            assertThat(started).doesNotExist();
        }
    }

    @Test
    void aProgramThatIsNotThereIsToldBeforeTheStart() throws Exception {
        try (LauncherProcess launcher =
                start("-np", "1", "-H", "far.invalid:1", "no-such-command")) {
            assertThat(launcher.exitCode()).isOne();
            assertThat(launcher.stderr())
                    .contains("  far.invalid: command 'no-such-command' not found in the folders");
        }
    }

    @Test
    void theSecretIsOnNoCommandLine() throws Exception {
        String program = "echo key=$HOROVOD_SECRET_KEY; exec sleep 1000";
        try (LauncherProcess launcher =
                start("-np", "2", "-H", "far.invalid:2", "sh", "-c", program)) {
            String secret = launcher.awaitOutput("key=(\\S{43})", 2).getFirst();
            assertThat(Processes.withCommandLine(secret)).isEmpty();
        }
    }

    @Test
    void aSignalReachesEveryRank() throws Exception {
        String program =
                """
                trap 'echo got INT; exit 0' INT
                echo job=$HOROVOD_JOB_ID
                while :; do sleep 0.05; done""";
        try (LauncherProcess launcher =
                start(
                        "-np",
                        "3",
                        "-H",
                        "localhost:1,far1.invalid:1,far2.invalid:1",
                        "sh",
                        "-c",
                        program)) {
            launcher.awaitOutput("job=(\\S+)", 3);
            launcher.signal("INT");
            assertThat(launcher.exitCode()).isEqualTo(130);
            assertThat(launcher.stdout())
                    .contains("[0]<stdout>:got INT", "[1]<stdout>:got INT", "[2]<stdout>:got INT");
            assertThat(Processes.ofJob(launcher.awaitJobId())).isEmpty();
        }
    }

    @Test
    void aKilledAgentIsALostHostAndLeavesNoOrphan() throws Exception {
        String program = "setsid sleep 1001 & echo job=$HOROVOD_JOB_ID; exec sleep 1000";
        try (LauncherProcess launcher =
                start("-np", "2", "-H", "far.invalid:2", "sh", "-c", program)) {
            launcher.awaitOutput("job=(\\S+)", 2);
            String job = launcher.awaitJobId();
            Processes.signal("KILL", Processes.agentOf(launcher.pid()));
            assertThat(launcher.exitCode()).isOne();
            assertThat(launcher.stderr())
                    .containsPattern(
                            "lost contact with host far.invalid \\(ranks 0, 1\\): ssh ended")
                    .containsPattern("First to fail was rank 0 on far.invalid")
                    .contains("contact with its host was lost", "The other processes had ended");
            awaitNothingLeft(job);
        }
    }

    @Test
    void noProcessSurvivesTheKillingOfTheLauncher() throws Exception {
        String program = "setsid sleep 1001 & echo job=$HOROVOD_JOB_ID; exec sleep 1000";
        try (LauncherProcess launcher =
                start("-np", "2", "-H", "far1.invalid:1,far2.invalid:1", "sh", "-c", program)) {
            launcher.awaitOutput("job=(\\S+)", 2);
            String job = launcher.awaitJobId();
            launcher.signal("KILL");
            awaitNothingLeft(job);
        }
    }

    @Test
    void whatRanksLeaveBehindIsEndedAndReportedWithItsHost() throws Exception {
        String program = "setsid sleep 1003 >/dev/null 2>&1 & exit 0";
        try (LauncherProcess launcher =
                start("-np", "1", "-H", "far.invalid:1", "sh", "-c", program)) {
            assertThat(launcher.exitCode()).isZero();
            assertThat(launcher.stderr())
                    .containsPattern("left behind: \\d+ (setsid )?sleep 1003 on far.invalid");
        }
    }

    private static void awaitNothingLeft(String job) {
        await().atMost(PATIENCE).until(() -> Processes.ofJob(job).isEmpty());
        await().atMost(PATIENCE).until(() -> Processes.watchdogsOf(job).isEmpty());
    }
}
