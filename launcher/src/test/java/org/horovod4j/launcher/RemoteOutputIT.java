package org.horovod4j.launcher;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import org.horovod4j.testsupport.Processes;
import org.horovod4j.testsupport.TestJvm;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.IntStream;

/// The output of ranks on other hosts arrives complete and in order, through agents and a
/// [FakeSsh], however late it is read or sent.
class RemoteOutputIT {
    private static final Duration TIMEOUT = Duration.ofMinutes(3);

    private FakeSsh ssh;

    @BeforeEach
    void createSsh(@TempDir Path folder) throws IOException {
        ssh = FakeSsh.in(folder);
    }

    @Test
    void largeOutputArrivesInOrder() throws Exception {
        try (LauncherProcess launcher =
                ssh.start(
                        TestCommands.job(
                                "-np 3 -H far1.invalid:2,far2.invalid:1",
                                ManyLinesProgram.class,
                                "20000"))) {
            assertThat(launcher.exitCode()).as(launcher.stderr()).isZero();
            List<String> lines = launcher.stdout().lines().toList();
            assertThat(lines).hasSize(3 * 20_000);
            for (int rank = 0; rank < 3; rank++) {
                String prefix = "[" + rank + "]<stdout>:";
                assertThat(lines.stream().filter(line -> line.startsWith(prefix)))
                        .containsExactlyElementsOf(
                                IntStream.range(0, 20_000)
                                        .mapToObj(line -> prefix + ManyLinesProgram.line(line))
                                        .toList());
            }
            assertThat(launcher.stderr()).isEmpty();
        }
    }

    @Test
    void slowReaderDoesNotLoseHost() throws Exception {
        // The reader of the launcher's output stops for twice the heartbeat timeout. The output is
        // far larger than all buffers.
        Path out = ssh.folder().resolve("out");
        run(
                shell(
                        "\"$@\" 2>\"$0.err\" | { read -r first; sleep 20; wc -c; } >\"$0\"",
                        out,
                        "-np",
                        "1",
                        "-H",
                        "far.invalid:1",
                        "--heartbeat-timeout",
                        "10",
                        "sh",
                        "-c",
                        "echo; head -c 3000000 /dev/zero | tr '\\0' '\\n'"));
        assertThat(Files.readString(Path.of(out + ".err"))).isEmpty();
        assertThat(Files.readString(out).strip())
                .isEqualTo(Integer.toString(3_000_000 * "[0]<stdout>:\n".length()));
    }

    /// More output than may be in flight. The rest is sent when the reader of the launcher's output
    /// continues, long after all processes have exited. It takes longer than the idle timeout of a
    /// pipe and the exit timeout of an agent.
    @Tag("slow")
    @Test
    void lastOutputArrivesOverDelayedConnection() throws Exception {
        Path out = ssh.folder().resolve("out");
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
        builder.environment().put("DELAYED_LINE", FakeSsh.delayedPipe(8000, 100_000));
        run(builder);
        assertThat(Path.of(out + ".err")).isEmptyFile();
        assertThat(out).hasContent("[0]<stdout>:last words");
    }

    @Test
    void inheritedOpenStreamDoesNotDelayExit() throws Exception {
        // Without the variable of the job the watchdog cannot find this process.
        String program = "env -i setsid sleep 1005 & echo pid=$!; echo last words";
        try (LauncherProcess launcher =
                ssh.start("-np", "1", "-H", "far.invalid:1", "sh", "-c", program)) {
            String pid = launcher.awaitOutput("pid=(\\d+)", 1).getFirst();
            try {
                assertThat(launcher.exitCode()).as(launcher.stderr()).isZero();
                assertThat(launcher.stdout()).contains("[0]<stdout>:last words\n");
            } finally {
                Processes.signal("KILL", Long.parseLong(pid));
            }
        }
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
                                TestJvm.JAVA,
                                TestJvm.NO_PERFORMANCE_DATA,
                                "-XX:TieredStopAtLevel=1",
                                "-cp",
                                TestJvm.CLASS_PATH,
                                HorovodRun.class.getName()));
        command.addAll(List.of(arguments));
        ProcessBuilder builder = new ProcessBuilder(command);
        builder.environment().put("PATH", ssh.path());
        return builder;
    }

    private static void run(ProcessBuilder builder) throws IOException {
        Process process = builder.start();
        try {
            await().atMost(TIMEOUT).until(() -> !process.isAlive());
        } finally {
            process.destroyForcibly();
        }
    }
}
