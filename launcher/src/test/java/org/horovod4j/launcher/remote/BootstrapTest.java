package org.horovod4j.launcher.remote;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import static java.nio.charset.StandardCharsets.UTF_8;

import org.horovod4j.launcher.process.Program;
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
import java.util.concurrent.TimeUnit;

/// The real script and the real agent, run by a shell of this machine instead of one behind ssh.
class BootstrapTest {
    private static final Duration PATIENCE = Duration.ofSeconds(60);

    @TempDir Path folder;
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

    private static RemoteJob job(Path where, @Nullable String java) {
        return new RemoteJob(
                "HOROVOD_JOB_ID=bootstrap-" + ProcessHandle.current().pid(),
                PATIENCE,
                PATIENCE,
                where,
                java,
                List.of(),
                Map.of());
    }

    private Bootstrap.Quarters run(RemoteJob job, String login) throws Exception {
        Bootstrap bootstrap = new Bootstrap(job);
        ProcessBuilder builder = new ProcessBuilder("sh", "-c", login + bootstrap.command());
        builder.environment().put("TMPDIR", temporary.toString());
        builder.environment().put("LC_ALL", "C");
        builder.redirectError(ProcessBuilder.Redirect.INHERIT);
        shells.add(builder.start());
        return bootstrap.run(shells.getLast().getInputStream(), shells.getLast().getOutputStream());
    }

    @Test
    void anAgentRunsAProcessAndLeavesNothingBehind() throws Exception {
        Bootstrap.Quarters quarters =
                run(
                        job(folder, null),
                        "echo 'Welcome to far'; echo 'horovod4j is not an answer'; ");
        assertThat(quarters.folder()).startsWith(temporary.toString());
        assertThat(Path.of(quarters.folder(), "agent.jar")).isNotEmptyFile();
        assertThat(Files.getPosixFilePermissions(Path.of(quarters.folder()))).hasSize(3);

        Process shell = shells.getLast();
        Line line = new Line(shell.getInputStream(), shell.getOutputStream());
        line.send(
                new Message.Open(
                        "HOROVOD_JOB_ID=b", PATIENCE, Map.of("PATH", System.getenv("PATH"))));
        assertThat(next(line)).isEqualTo(new Message.Ready());
        line.send(
                new Message.Put("copies/0/hello", true, "#!/bin/sh\necho hello; ".getBytes(UTF_8)));
        line.send(
                new Message.Put("copies/0/hello", true, "echo grüße >&2; exit 3".getBytes(UTF_8)));
        String hello = quarters.folder() + "/copies/0/hello";
        line.send(new Message.Find(List.of(hello)));
        assertThat(next(line)).isEqualTo(new Message.Found(new Program(List.of(hello), "")));
        line.send(new Message.Find(List.of("no-such-program")));
        assertThat(next(line)).isInstanceOf(Message.Missing.class);
        line.send(new Message.Find(List.of("java", "Train")));
        assertThat(((Message.Found) next(line)).program().command())
                .startsWith(quarters.java(), "--add-modules");

        line.send(new Message.Start(0, List.of(hello), Map.of("HOROVOD_JOB_ID", "b")));
        assertThat(next(line)).isInstanceOf(Message.Started.class);
        assertThat(told(line, 5))
                .containsExactlyInAnyOrder(
                        "OUT hello\n", "OUT ", "ERR grüße\n", "ERR ", "exited with 3");
        line.send(new Message.Sweep());
        assertThat(next(line)).isEqualTo(new Message.Swept(List.of()));
        line.close();
        assertThat(shell.waitFor(PATIENCE.toSeconds(), TimeUnit.SECONDS)).isTrue();
        assertThat(shell.exitValue()).isZero();
        assertThat(temporary).isEmptyDirectory();
    }

    private static Message next(Line line) throws IOException {
        Message message;
        do {
            message = line.receive();
        } while (message instanceof Message.Heartbeat);
        return message;
    }

    private static List<String> told(Line line, int count) throws IOException {
        List<String> news = new ArrayList<>();
        while (news.size() < count) {
            news.add(told(next(line)));
        }
        return news;
    }

    private static String told(Message message) {
        return switch (message) {
            case Message.Output(int _, Message.Stream stream, byte[] bytes) ->
                    stream + " " + new String(bytes, UTF_8);
            case Message.Exited(int _, int status) -> "exited with " + status;
            default -> message.toString();
        };
    }

    @Test
    void wordsThatAreNotAsciiSurviveAHostWithoutALocale() throws Exception {
        run(job(folder, null), "");
        Process shell = shells.getLast();
        Line line = new Line(shell.getInputStream(), shell.getOutputStream());
        line.send(new Message.Open("HOROVOD_JOB_ID=c", PATIENCE, Map.of()));
        assertThat(next(line)).isEqualTo(new Message.Ready());
        line.send(
                new Message.Start(
                        0,
                        List.of("sh", "-c", "printf %s \"$0$NAME\"", "北京"),
                        Map.of("NAME", "ü", "PATH", System.getenv("PATH"))));
        assertThat(next(line)).isInstanceOf(Message.Started.class);
        assertThat(told(line, 4)).contains("OUT 北京ü");
    }

    @Test
    void aMissingJavaIsNamed() {
        assertThatThrownBy(() -> run(job(folder, "/no/such/java"), ""))
                .isInstanceOf(HostNotReadyException.class)
                .hasMessageStartingWith("it has no java (tried /no/such/java).");
        assertThat(temporary).isEmptyDirectory();
    }

    @ParameterizedTest
    @ValueSource(strings = {"openjdk version \"17.0.15\" 2025-04-15", "java version \"1.8.0_402\""})
    void anOldJavaIsNamedWithItsVersion(String version) throws Exception {
        Path java = folder.resolve("my java");
        Files.writeString(java, "#!/bin/sh\necho '%s' >&2\n".formatted(version));
        assertThat(java.toFile().setExecutable(true)).isTrue();
        assertThatThrownBy(() -> run(job(folder, java.toString()), ""))
                .hasMessageMatching("its java is too old \\(.*/my java is version (17|1)\\)\\. .*");
    }

    @Test
    void aMissingFolderIsNamed() {
        assertThatThrownBy(() -> run(job(Path.of("/no/such/folder"), null), ""))
                .hasMessageStartingWith("it has no folder /no/such/folder,");
    }

    @Test
    void aFullDiskIsNamed() {
        temporary = Path.of("/no/such/folder");
        assertThatThrownBy(() -> run(job(folder, null), ""))
                .hasMessageStartingWith("no folder can be made in /no/such/folder there.");
    }

    @Test
    void aConnectionThatEndsEarlyLeavesNothingBehind() throws Exception {
        Bootstrap bootstrap = new Bootstrap(job(folder, null));
        ProcessBuilder builder = new ProcessBuilder("sh", "-c", bootstrap.command());
        builder.environment().put("TMPDIR", temporary.toString());
        Process shell = builder.start();
        shells.add(shell);
        assertThatThrownBy(
                        () ->
                                bootstrap.run(
                                        shell.getInputStream(),
                                        new Breaking(shell.getOutputStream())))
                .isInstanceOf(IOException.class);
        assertThat(shell.waitFor(PATIENCE.toSeconds(), TimeUnit.SECONDS)).isTrue();
        assertThat(temporary).isEmptyDirectory();
    }

    /// Takes the script and breaks off in the middle of the jar.
    private static final class Breaking extends FilterOutputStream {
        private int writes;

        Breaking(OutputStream out) {
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
