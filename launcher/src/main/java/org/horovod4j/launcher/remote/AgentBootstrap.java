package org.horovod4j.launcher.remote;

import static java.nio.charset.StandardCharsets.UTF_8;

import org.horovod4j.frame.MalformedMessageException;
import org.horovod4j.launcher.process.JavaHome;
import org.jspecify.annotations.Nullable;

import java.io.ByteArrayOutputStream;
import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.file.Path;
import java.util.List;
import java.util.Objects;

/// Starts an agent on a host that has only a shell and a JDK.
///
/// The command given to ssh is a fixed line that every login shell reads alike, even csh or fish:
/// it reads a script from standard input and runs it. The script looks for a `java` and a folder,
/// reads the [AgentJar] and runs it on the same input and output.
///
/// Each side waits for the other's answer before it sends more. So tools that read ahead find
/// nothing to read.
final class AgentBootstrap {
    private static final String ANSWER_PREFIX = "horovod4j\t";

    /// More than any login shell prints.
    private static final int MAX_LOGIN_OUTPUT = 1 << 20;

    private final RemoteHostSettings settings;
    private final byte[] jar;
    private final byte[] script;

    AgentBootstrap(RemoteHostSettings settings) throws IOException {
        this.settings = settings;
        this.jar = AgentJar.make();
        this.script = script().getBytes(UTF_8);
    }

    /// What the script found on the host.
    ///
    /// @param folder of the agent, removed when it ends
    /// @param version of the Java found
    record Installation(String folder, String version, String java) {}

    /// The command for ssh.
    String command() {
        return "exec sh -c 'eval \"$(head -c %d)\"'".formatted(script.length);
    }

    /// Starts the agent. Afterwards the streams carry messages.
    ///
    /// @throws HostNotReadyException when the host lacks something
    /// @throws IOException when the connection ends early
    Installation run(InputStream in, OutputStream out) throws IOException, HostNotReadyException {
        out.write(script);
        out.flush();
        Installation installation = parseInstallation(readAnswer(in));
        out.write(jar);
        out.flush();
        List<String> last = readAnswer(in);
        if (!last.equals(List.of("run"))) {
            throw unexpected(last);
        }
        return installation;
    }

    private Installation parseInstallation(List<String> answer)
            throws IOException, HostNotReadyException {
        return switch (answer.getFirst()) {
            case "send" -> new Installation(answer.get(1), answer.get(2), answer.get(3));
            case "no-folder" ->
                    throw new HostNotReadyException(
                            """
                            it has no folder %s, where the program is to run%s. Make it there, or \
                            start in a folder that all hosts have."""
                                    .formatted(
                                            settings.folder(),
                                            settings.copies().isEmpty()
                                                    ? ""
                                                    : ", and it cannot be made"));
            case "no-java" ->
                    throw new HostNotReadyException(
                            """
                            it has no java (tried %s). Install Java %d or newer there, or name one \
                            with --java."""
                                    .formatted(triedJava(), JavaHome.REQUIRED_VERSION));
            case "old-java" ->
                    throw new HostNotReadyException(
                            """
                            its java is too old (%s is version %s). Install Java %d or newer \
                            there, or name one with --java."""
                                    .formatted(
                                            answer.get(2),
                                            answer.get(1),
                                            JavaHome.REQUIRED_VERSION));
            case "no-space" ->
                    throw new HostNotReadyException(
                            """
                            no folder can be made in %s there. Check its space and permissions, or \
                            set TMPDIR there."""
                                    .formatted(answer.get(1)));
            default -> throw unexpected(answer);
        };
    }

    private static IOException unexpected(List<String> answer) {
        return new MalformedMessageException("the bootstrap answered " + answer);
    }

    private String triedJava() {
        return settings.java() != null ? settings.java() : currentJava() + " and the PATH";
    }

    /// The next line that is an answer. Skips what a login shell prints before it.
    private static List<String> readAnswer(InputStream in) throws IOException {
        ByteArrayOutputStream line = new ByteArrayOutputStream();
        for (int read = 0; read < MAX_LOGIN_OUTPUT; read++) {
            int next = in.read();
            if (next < 0) {
                throw new EOFException("the connection closed");
            }
            if (next != '\n') {
                line.write(next);
                continue;
            }
            String text = line.toString(UTF_8);
            if (text.startsWith(ANSWER_PREFIX)) {
                return List.of(text.substring(ANSWER_PREFIX.length()).split("\t", -1));
            }
            line.reset();
        }
        throw new IOException("its login shell prints without end");
    }

    private String script() throws IOException {
        return """
               folder=%s
               create=%s
               wanted=%s
               same=%s
               needed=%d
               size=%d
               %s"""
                .formatted(
                        quoted(settings.folder().toString()),
                        settings.copies().isEmpty() ? "" : "yes",
                        quoted(settings.java()),
                        quoted(currentJava().toString()),
                        JavaHome.REQUIRED_VERSION,
                        jar.length,
                        scriptTemplate());
    }

    private static Path currentJava() {
        return JavaHome.current().java();
    }

    private static String quoted(@Nullable String word) {
        return word == null ? "" : "'" + word.replace("'", "'\\''") + "'";
    }

    private static String scriptTemplate() throws IOException {
        try (InputStream text = AgentBootstrap.class.getResourceAsStream("bootstrap.sh")) {
            return new String(Objects.requireNonNull(text).readAllBytes(), UTF_8);
        }
    }
}
