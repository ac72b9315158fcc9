package org.horovod4j.launcher.remote;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import static java.nio.charset.StandardCharsets.UTF_8;

import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import java.io.FilterOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.TimeUnit;

/// The real script and agent, run by a local shell instead of ssh.
class AgentBootstrapTest {
    private static final Duration TIMEOUT = Duration.ofSeconds(60);

    @TempDir Path folder;
    private final String jobId = "bootstrap-" + UUID.randomUUID();
    private Path temporary;
    private final List<Process> shells = new ArrayList<>();

    @BeforeEach
    void makeFolders() throws IOException {
        temporary = Files.createDirectories(folder.resolve("with blank/tmp"));
    }

    @AfterEach
    void endShells() {
        shells.forEach(Process::destroyForcibly);
    }

    private RemoteHostSettings job(Path where, @Nullable String java) {
        return new RemoteHostSettings(
                "HOROVOD_JOB_ID=" + jobId, TIMEOUT, TIMEOUT, where, java, List.of(), Map.of());
    }

    private AgentBootstrap.Installation run(RemoteHostSettings job, String login) throws Exception {
        AgentBootstrap agentBootstrap = new AgentBootstrap(job);
        ProcessBuilder builder = new ProcessBuilder("sh", "-c", login + agentBootstrap.command());
        builder.environment().put("TMPDIR", temporary.toString());
        builder.environment().put("LC_ALL", "C");
        builder.redirectError(ProcessBuilder.Redirect.INHERIT);
        shells.add(builder.start());
        return agentBootstrap.run(
                shells.getLast().getInputStream(), shells.getLast().getOutputStream());
    }

    @Test
    void agentRunsProcessAndCleansUp() throws Exception {
        AgentBootstrap.Installation installation =
                run(
                        job(folder, null),
                        "echo 'Welcome to far'; echo 'horovod4j is not an answer'; ");
        assertThat(installation.folder()).startsWith(temporary.toString());
        assertThat(Path.of(installation.folder(), "agent.jar")).isNotEmptyFile();
        assertThat(Files.getPosixFilePermissions(Path.of(installation.folder()))).hasSize(3);

        Process shell = shells.getLast();
        AgentConnection agentConnection =
                new AgentConnection(shell.getInputStream(), shell.getOutputStream());
        agentConnection.send(
                new AgentMessage.Open(
                        "HOROVOD_JOB_ID=" + jobId, TIMEOUT, Map.of("PATH", System.getenv("PATH"))));
        assertThat(nextMessage(agentConnection)).isInstanceOf(AgentMessage.Ready.class);
        agentConnection.send(
                new AgentMessage.WriteFile(
                        "copies/0/hello", true, "#!/bin/sh\necho hello; ".getBytes(UTF_8)));
        agentConnection.send(
                new AgentMessage.WriteFile(
                        "copies/0/hello", true, "echo grüße >&2; exit 3".getBytes(UTF_8)));
        String hello = installation.folder() + "/copies/0/hello";
        agentConnection.send(new AgentMessage.FindProgram(List.of(hello)));
        assertThat(nextMessage(agentConnection))
                .isEqualTo(new AgentMessage.ProgramFound(List.of(hello), "", List.of()));
        agentConnection.send(new AgentMessage.FindProgram(List.of("no-such-program")));
        assertThat(nextMessage(agentConnection)).isInstanceOf(AgentMessage.ProgramMissing.class);
        agentConnection.send(new AgentMessage.FindProgram(List.of("java", "Train")));
        assertThat(((AgentMessage.ProgramFound) nextMessage(agentConnection)).command())
                .startsWith(installation.java(), "--add-modules");

        agentConnection.send(
                new AgentMessage.Start(0, List.of(hello), Map.of("HOROVOD_JOB_ID", jobId)));
        assertThat(nextMessage(agentConnection)).isInstanceOf(AgentMessage.Started.class);
        assertThat(describe(agentConnection, 5))
                .containsExactlyInAnyOrder(
                        "OUT hello\n", "OUT ", "ERR grüße\n", "ERR ", "exited with 3");
        agentConnection.send(new AgentMessage.Sweep());
        assertThat(nextMessage(agentConnection)).isEqualTo(new AgentMessage.Swept(List.of()));
        agentConnection.close();
        assertThat(shell.waitFor(TIMEOUT.toSeconds(), TimeUnit.SECONDS)).isTrue();
        assertThat(shell.exitValue()).isZero();
        assertThat(temporary).isEmptyDirectory();
    }

    @Test
    void missingWorkingFolderIsCreatedForCopies() throws Exception {
        Path missing = folder.resolve("with blank/new/folder");
        RemoteHostSettings plain = job(missing, null);
        assertThatThrownBy(() -> run(plain, ""))
                .isInstanceOf(HostNotReadyException.class)
                .hasMessageContaining("it has no folder " + missing);
        RemoteHostSettings copying =
                new RemoteHostSettings(
                        plain.jobVariable(),
                        TIMEOUT,
                        TIMEOUT,
                        missing,
                        null,
                        List.of(Files.createFile(folder.resolve("app.jar"))),
                        Map.of());
        var _ = run(copying, "");
        assertThat(missing).isEmptyDirectory();
    }

    private static AgentMessage nextMessage(AgentConnection agentConnection) throws IOException {
        AgentMessage agentMessage;
        do {
            agentMessage = agentConnection.receive();
        } while (agentMessage instanceof AgentMessage.Heartbeat);
        return agentMessage;
    }

    private static List<String> describe(AgentConnection agentConnection, int count)
            throws IOException {
        List<String> news = new ArrayList<>();
        while (news.size() < count) {
            news.add(describe(nextMessage(agentConnection)));
        }
        return news;
    }

    private static String describe(AgentMessage agentMessage) {
        return switch (agentMessage) {
            case AgentMessage.Output(
                            int _,
                            AgentMessage.StandardStream standardStream,
                            byte[] bytes) ->
                    standardStream + " " + new String(bytes, UTF_8);
            case AgentMessage.Exited(int _, int status) -> "exited with " + status;
            default -> agentMessage.toString();
        };
    }

    @Test
    void nonAsciiArgumentsWorkWithoutLocale() throws Exception {
        run(job(folder, null), "");
        Process shell = shells.getLast();
        AgentConnection agentConnection =
                new AgentConnection(shell.getInputStream(), shell.getOutputStream());
        agentConnection.send(new AgentMessage.Open("HOROVOD_JOB_ID=" + jobId, TIMEOUT, Map.of()));
        assertThat(nextMessage(agentConnection)).isInstanceOf(AgentMessage.Ready.class);
        agentConnection.send(
                new AgentMessage.Start(
                        0,
                        List.of("sh", "-c", "printf %s \"$0$NAME\"", "北京"),
                        Map.of("NAME", "ü", "PATH", System.getenv("PATH"))));
        assertThat(nextMessage(agentConnection)).isInstanceOf(AgentMessage.Started.class);
        assertThat(describe(agentConnection, 4)).contains("OUT 北京ü");
    }

    @Test
    void missingJavaIsReported() {
        assertThatThrownBy(() -> run(job(folder, "/no/such/java"), ""))
                .isInstanceOf(HostNotReadyException.class)
                .hasMessageStartingWith("it has no java (tried /no/such/java).");
        assertThat(temporary).isEmptyDirectory();
    }

    @ParameterizedTest
    @ValueSource(strings = {"openjdk version \"17.0.15\" 2025-04-15", "java version \"1.8.0_402\""})
    void oldJavaIsReportedWithVersion(String version) throws Exception {
        Path java = folder.resolve("my java");
        Files.writeString(java, "#!/bin/sh\necho '%s' >&2\n".formatted(version));
        assertThat(java.toFile().setExecutable(true)).isTrue();
        assertThatThrownBy(() -> run(job(folder, java.toString()), ""))
                .hasMessageMatching("its java is too old \\(.*/my java is version (17|1)\\)\\. .*");
    }

    @Test
    void missingFolderIsReported() {
        assertThatThrownBy(() -> run(job(Path.of("/no/such/folder"), null), ""))
                .hasMessageStartingWith("it has no folder /no/such/folder,");
    }

    @Test
    void unwritableTemporaryFolderIsReported() {
        temporary = Path.of("/no/such/folder");
        assertThatThrownBy(() -> run(job(folder, null), ""))
                .hasMessageStartingWith("no folder can be made in /no/such/folder there.");
    }

    @Test
    void brokenConnectionLeavesNoFiles() throws Exception {
        AgentBootstrap agentBootstrap = new AgentBootstrap(job(folder, null));
        ProcessBuilder builder = new ProcessBuilder("sh", "-c", agentBootstrap.command());
        builder.environment().put("TMPDIR", temporary.toString());
        Process shell = builder.start();
        shells.add(shell);
        assertThatThrownBy(
                        () ->
                                agentBootstrap.run(
                                        shell.getInputStream(),
                                        new BreakingOutputStream(shell.getOutputStream())))
                .isInstanceOf(IOException.class);
        assertThat(shell.waitFor(TIMEOUT.toSeconds(), TimeUnit.SECONDS)).isTrue();
        assertThat(temporary).isEmptyDirectory();
    }

    /// Accepts the script, then fails in the middle of the jar.
    private static final class BreakingOutputStream extends FilterOutputStream {
        private int writes;

        BreakingOutputStream(OutputStream out) {
            super(out);
        }

        @Override
        public void write(byte[] bytes) throws IOException {
            if (writes++ == 0) {
                out.write(bytes);
                return;
            }
            out.write(bytes, 0, bytes.length / 2);
            out.close();
            throw new IOException("broken");
        }
    }
}
