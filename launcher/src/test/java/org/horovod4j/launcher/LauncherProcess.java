package org.horovod4j.launcher;

import static org.awaitility.Awaitility.await;

import static java.nio.charset.StandardCharsets.UTF_8;

import org.horovod4j.testsupport.Processes;
import org.horovod4j.testsupport.TestJvm;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.OptionalInt;
import java.util.concurrent.TimeUnit;
import java.util.regex.Pattern;

/// The launcher in its own process, as users run it.
final class LauncherProcess implements AutoCloseable {
    private static final Duration TIMEOUT = Duration.ofSeconds(60);

    /// Removes the capability of root to read any file.
    static final List<String> WITHOUT_PRIVILEGES =
            List.of(
                    "sh",
                    "-c",
                    "[ $(id -u) = 0 ] || exec \"$@\"; exec setpriv --inh-caps -all"
                            + " --bounding-set -dac_override,-dac_read_search \"$@\"",
                    "sh");

    private final Process process;
    private final Capture stdout;
    private final Capture stderr;

    private LauncherProcess(Process process) {
        this.process = process;
        this.stdout = new Capture(process.getInputStream());
        this.stderr = new Capture(process.getErrorStream());
    }

    /// Runs `horovodrun` with these arguments.
    static LauncherProcess start(String... arguments) throws IOException {
        return start(Map.of(), arguments);
    }

    static LauncherProcess start(Map<String, String> variables, String... arguments)
            throws IOException {
        return startWithin(List.of(), variables, arguments);
    }

    /// @param around a command that runs the words after it as a command
    static LauncherProcess startWithin(
            List<String> around, Map<String, String> variables, String... arguments)
            throws IOException {
        return start(around, TestCommands.launcher(arguments), variables);
    }

    static LauncherProcess start(Class<?> main, Map<String, String> variables, String... arguments)
            throws IOException {
        return start(List.of(), TestJvm.of(main, arguments).shortLived(), variables);
    }

    private static LauncherProcess start(
            List<String> around, TestJvm jvm, Map<String, String> variables) throws IOException {
        List<String> command = new ArrayList<>(around);
        // A build in the background ignores SIGINT, and its children inherit that.
        command.addAll(List.of("env", "--default-signal=INT,TERM"));
        command.addAll(jvm.words());
        ProcessBuilder builder = new ProcessBuilder(command);
        builder.environment().putAll(variables);
        return new LauncherProcess(builder.start());
    }

    long pid() {
        return process.pid();
    }

    boolean isAlive() {
        return process.isAlive();
    }

    /// Its exit code, when it has exited.
    OptionalInt ending() {
        return isAlive() ? OptionalInt.empty() : OptionalInt.of(process.exitValue());
    }

    String stdout() {
        return stdout.text();
    }

    String stderr() {
        return stderr.text();
    }

    /// Waits until standard output matches, and returns the first group of each match.
    List<String> awaitOutput(String regex, int times) {
        Pattern pattern = Pattern.compile(regex, Pattern.MULTILINE);
        return await().atMost(TIMEOUT)
                .until(
                        () -> pattern.matcher(stdout()).results().map(it -> it.group(1)).toList(),
                        groups -> groups.size() >= times);
    }

    /// The id of the job, which rank 0 must print as `job=…`.
    String awaitJobId() {
        return awaitOutput("^\\[0]<stdout>:job=(\\S+)$", 1).getFirst();
    }

    /// Writes to standard input.
    void type(String text) throws IOException {
        process.getOutputStream().write(text.getBytes(UTF_8));
        process.getOutputStream().flush();
    }

    void signal(String name) throws IOException, InterruptedException {
        Processes.signal(name, pid());
    }

    /// Waits for the exit and returns the exit code.
    int exitCode() throws InterruptedException {
        return exitCode(TIMEOUT);
    }

    int exitCode(Duration timeout) throws InterruptedException {
        if (!process.waitFor(timeout.toSeconds(), TimeUnit.SECONDS)) {
            throw new AssertionError("the launcher did not end\n" + stdout() + stderr());
        }
        stdout.await();
        stderr.await();
        return process.exitValue();
    }

    @Override
    public void close() {
        stdout.end();
        stderr.end();
        process.destroyForcibly();
    }

    /// Reads a stream to its end, on a thread.
    private static final class Capture {
        private final ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        private final Thread thread;

        /// Whether the rest is not needed. Java closes the streams of a process that it destroys.
        private volatile boolean ended;

        Capture(InputStream stream) {
            thread = Thread.ofPlatform().daemon().start(() -> copy(stream));
        }

        private void copy(InputStream stream) {
            try {
                stream.transferTo(bytes);
            } catch (IOException e) {
                if (!ended) {
                    throw new UncheckedIOException(e);
                }
            }
        }

        void end() {
            ended = true;
        }

        String text() {
            return bytes.toString(UTF_8);
        }

        void await() throws InterruptedException {
            thread.join(TIMEOUT);
        }
    }
}
