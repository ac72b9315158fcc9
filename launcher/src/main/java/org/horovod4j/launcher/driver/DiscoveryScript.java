package org.horovod4j.launcher.driver;

import static java.nio.charset.StandardCharsets.UTF_8;

import org.horovod4j.launcher.plan.Host;
import org.horovod4j.launcher.plan.Login;
import org.jspecify.annotations.Nullable;

import java.io.ByteArrayOutputStream;
import java.io.File;
import java.io.IOException;
import java.io.InputStream;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;

/// A program of the user's that prints the hosts there are.
///
/// What it prints comes through pipes, of which only those bytes are read that are there: a child
/// that it leaves in the background may hold a pipe open for ever. Files would not, but stay behind
/// when the launcher is killed. Such a child should print nothing: what is in a pipe when the script
/// ends is read by the JDK, to its end.
public final class DiscoveryScript implements Discovery {
    /// How long it may take.
    public static final Duration TIMEOUT = Duration.ofSeconds(30);

    /// More than any list of hosts. What comes after it is not kept.
    private static final int MAX_BYTES = 1 << 20;

    /// How often its pipes are emptied, while it runs: it stops when one is full.
    private static final Duration POLL_INTERVAL = Duration.ofMillis(10);

    private static final int MAX_ERROR_LENGTH = 200;
    private static final File DEV_NULL = new File("/dev/null");

    private final String script;
    private final @Nullable Integer slotsPerHost;
    private final Login login;
    private final Map<String, String> variables;
    private final Duration timeout;

    /// A script that has not been run yet.
    ///
    /// @param script a command line for the shell
    /// @param slotsPerHost of hosts that it prints without; null if it may not
    /// @param login how to log in to the hosts
    /// @param variables for its environment, by which it is ended with the job
    public DiscoveryScript(
            String script,
            @Nullable Integer slotsPerHost,
            Login login,
            Map<String, String> variables,
            Duration timeout) {
        this.script = script;
        this.slotsPerHost = slotsPerHost;
        this.login = login;
        this.variables = Map.copyOf(variables);
        this.timeout = timeout;
    }

    @Override
    public List<Host> find() throws DiscoveryException, InterruptedException {
        try {
            return DiscoveryOutput.parse(run(), slotsPerHost).stream()
                    .map(host -> host.withDefaults(login))
                    .toList();
        } catch (IOException e) {
            throw new DiscoveryException("it cannot be run: " + e.getMessage(), e);
        }
    }

    /// @return what it has printed
    private String run() throws IOException, DiscoveryException, InterruptedException {
        ProcessBuilder builder = new ProcessBuilder("sh", "-c", script);
        builder.environment().putAll(variables);
        builder.redirectInput(DEV_NULL);
        Process process = builder.start();
        try (InputStream out = process.getInputStream();
                InputStream err = process.getErrorStream()) {
            ByteArrayOutputStream printed = new ByteArrayOutputStream();
            ByteArrayOutputStream complaints = new ByteArrayOutputStream();
            long deadline = System.nanoTime() + timeout.toNanos();
            boolean hasEnded = false;
            while (!hasEnded && System.nanoTime() - deadline < 0) {
                hasEnded = process.waitFor(POLL_INTERVAL.toMillis(), TimeUnit.MILLISECONDS);
                readAvailable(out, printed);
                readAvailable(err, complaints);
                checkLength(printed);
            }
            checkExit(process, hasEnded, complaints.toString(UTF_8));
            return printed.toString(UTF_8);
        } finally {
            process.descendants().forEach(ProcessHandle::destroyForcibly);
            process.destroyForcibly();
        }
    }

    /// Half a list would dismiss the workers of the other half.
    private static void checkLength(ByteArrayOutputStream printed) throws DiscoveryException {
        if (printed.size() > MAX_BYTES) {
            throw new DiscoveryException(
                    "it prints more than %d bytes, which is no list of hosts".formatted(MAX_BYTES));
        }
    }

    private void checkExit(Process process, boolean hasEnded, String complaints)
            throws DiscoveryException {
        if (!hasEnded) {
            throw new DiscoveryException(
                    "it did not end within %s s and was killed"
                            .formatted(timeout.toMillis() / 1e3));
        }
        if (process.exitValue() != 0) {
            throw new DiscoveryException(
                    "exit code %d%s".formatted(process.exitValue(), lastErrorLine(complaints)));
        }
    }

    /// Reads what is there, once: a program that prints faster than this reads would never let it
    /// end. When the script has ended, all that it wrote is there.
    private static void readAvailable(InputStream pipe, ByteArrayOutputStream kept)
            throws IOException {
        byte[] bytes = pipe.readNBytes(Math.min(pipe.available(), MAX_BYTES + 1));
        kept.write(bytes, 0, Math.min(bytes.length, MAX_BYTES + 1 - kept.size()));
    }

    private static String lastErrorLine(String complaints) {
        String text = complaints.strip();
        String last = text.substring(text.lastIndexOf('\n') + 1);
        return last.isEmpty()
                ? ""
                : ": " + last.substring(0, Math.min(last.length(), MAX_ERROR_LENGTH));
    }

    /// As the user wrote it.
    @Override
    public String toString() {
        return script;
    }
}
