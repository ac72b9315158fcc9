package org.horovod4j.launcher.elastic;

import static java.nio.charset.StandardCharsets.UTF_8;

import org.horovod4j.launcher.plan.Host;
import org.horovod4j.launcher.plan.Login;
import org.jspecify.annotations.Nullable;

import java.io.IOException;
import java.io.InputStream;
import java.lang.System.Logger.Level;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;

/// A program of the user's that prints the hosts there are.
///
/// Its output goes to files, not pipes: a child that it leaves in the background may hold a pipe open
/// for ever.
public final class DiscoveryScript implements Discovery, AutoCloseable {
    /// How long it may take.
    public static final Duration TIMEOUT = Duration.ofSeconds(30);

    /// More than any list of hosts; what comes after it is not read.
    private static final int LONGEST = 1 << 20;

    private static final int LAST_WORDS = 200;

    private final String script;
    private final @Nullable Integer slotsPerHost;
    private final Login login;
    private final Map<String, String> variables;
    private final Duration timeout;
    private final Path folder;

    /// Makes a folder for what the script prints.
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
            Duration timeout)
            throws IOException {
        this.script = script;
        this.slotsPerHost = slotsPerHost;
        this.login = login;
        this.variables = Map.copyOf(variables);
        this.timeout = timeout;
        this.folder = Files.createTempDirectory("horovodrun-discovery");
    }

    @Override
    public List<Host> find() throws DiscoveryException, InterruptedException {
        try {
            run();
            return HostLines.parse(read("out"), slotsPerHost).stream()
                    .map(host -> host.withDefaults(login))
                    .toList();
        } catch (IOException e) {
            throw new DiscoveryException("it cannot be run: " + e.getMessage(), e);
        }
    }

    private void run() throws IOException, DiscoveryException, InterruptedException {
        ProcessBuilder builder = new ProcessBuilder("sh", "-c", script);
        builder.environment().putAll(variables);
        builder.redirectInput(Path.of("/dev/null").toFile());
        builder.redirectOutput(folder.resolve("out").toFile());
        builder.redirectError(folder.resolve("err").toFile());
        Process process = builder.start();
        try {
            if (!process.waitFor(timeout.toMillis(), TimeUnit.MILLISECONDS)) {
                throw new DiscoveryException(
                        "it did not end within %s s and was killed"
                                .formatted(timeout.toMillis() / 1e3));
            }
        } finally {
            process.descendants().forEach(ProcessHandle::destroyForcibly);
            process.destroyForcibly();
        }
        if (process.exitValue() != 0) {
            throw new DiscoveryException(
                    "exit code %d%s".formatted(process.exitValue(), lastWords()));
        }
    }

    private String lastWords() throws IOException {
        String text = read("err").strip();
        String last = text.substring(text.lastIndexOf('\n') + 1);
        return last.isEmpty() ? "" : ": " + last.substring(0, Math.min(last.length(), LAST_WORDS));
    }

    private String read(String name) throws IOException {
        try (InputStream stream = Files.newInputStream(folder.resolve(name))) {
            return new String(stream.readNBytes(LONGEST), UTF_8);
        }
    }

    /// Removes what it printed. What cannot be removed stays: no job fails for that.
    @Override
    public void close() {
        try {
            for (String name : List.of("out", "err")) {
                Files.deleteIfExists(folder.resolve(name));
            }
            Files.deleteIfExists(folder);
        } catch (IOException e) {
            System.getLogger(DiscoveryScript.class.getName())
                    .log(Level.WARNING, "The folder of the discovery script stays: " + e);
        }
    }

    /// As the user wrote it.
    @Override
    public String toString() {
        return script;
    }
}
