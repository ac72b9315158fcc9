package org.horovod4j.launcher.driver;

import static java.nio.charset.StandardCharsets.UTF_8;

import org.horovod4j.ConfigurationException;
import org.horovod4j.launcher.plan.Host;
import org.horovod4j.launcher.plan.Login;
import org.horovod4j.text.DurationFormat;
import org.jspecify.annotations.Nullable;

import java.io.ByteArrayOutputStream;
import java.io.File;
import java.io.IOException;
import java.io.InputStream;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.SequencedMap;
import java.util.concurrent.TimeUnit;

/// A user's program that prints the hosts that exist: one per line, as `host[:slots]`. Empty lines
/// and text after a `#` are skipped.
///
/// Its output is read from pipes, and only bytes that are available: a background child may hold a
/// pipe open forever. (Files have no such problem, but are left behind when the launcher is
/// killed.) Such a child should print nothing: when the script exits, the JDK reads its pipes to
/// the end.
public final class DiscoveryScript implements DiscoveryWatch.Discovery {
    /// How long a run may take.
    public static final Duration TIMEOUT = Duration.ofSeconds(30);

    /// More than any list of hosts has. Further bytes are dropped.
    private static final int MAX_BYTES = 1 << 20;

    /// How often its pipes are read while it runs: it blocks when one is full.
    private static final Duration POLL_INTERVAL = Duration.ofMillis(10);

    private static final int MAX_ERROR_LENGTH = 200;
    private static final int MAX_QUOTED_LENGTH = 60;
    private static final File DEV_NULL = new File("/dev/null");

    private final String script;
    private final @Nullable Integer slotsPerHost;
    private final Login login;
    private final Map<String, String> variables;
    private final Duration timeout;

    /// @param script a command line for the shell
    /// @param slotsPerHost of hosts that it prints without slots; null if it must print them
    /// @param login how to log in to the hosts
    /// @param variables for its environment; they mark it as a process of the job
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
            return parse(run(), slotsPerHost).stream()
                    .map(host -> host.withDefaults(login))
                    .toList();
        } catch (IOException e) {
            throw new DiscoveryException("it cannot be run: " + e.getMessage(), e);
        }
    }

    /// @return its standard output
    private String run() throws IOException, DiscoveryException, InterruptedException {
        ProcessBuilder builder = new ProcessBuilder("sh", "-c", script);
        builder.environment().putAll(variables);
        builder.redirectInput(DEV_NULL);
        Process process = builder.start();
        try (InputStream out = process.getInputStream();
                InputStream err = process.getErrorStream()) {
            ByteArrayOutputStream printed = new ByteArrayOutputStream();
            ByteArrayOutputStream errors = new ByteArrayOutputStream();
            long deadline = System.nanoTime() + timeout.toNanos();
            boolean hasEnded = false;
            while (!hasEnded && System.nanoTime() - deadline < 0) {
                hasEnded = process.waitFor(POLL_INTERVAL.toMillis(), TimeUnit.MILLISECONDS);
                readAvailable(out, printed);
                readAvailable(err, errors);
                checkLength(printed);
            }
            checkExit(process, hasEnded, errors.toString(UTF_8));
            return printed.toString(UTF_8);
        } finally {
            process.descendants().forEach(ProcessHandle::destroyForcibly);
            process.destroyForcibly();
        }
    }

    /// A truncated list would dismiss the workers of the missing hosts.
    private static void checkLength(ByteArrayOutputStream printed) throws DiscoveryException {
        if (printed.size() > MAX_BYTES) {
            throw new DiscoveryException(
                    "it prints more than %d bytes, which is not a list of hosts"
                            .formatted(MAX_BYTES));
        }
    }

    private void checkExit(Process process, boolean hasEnded, String errors)
            throws DiscoveryException {
        if (!hasEnded) {
            throw new DiscoveryException(
                    "it did not end within %s and was killed"
                            .formatted(DurationFormat.seconds(timeout)));
        }
        if (process.exitValue() != 0) {
            throw new DiscoveryException(
                    "exit code %d%s".formatted(process.exitValue(), lastErrorLine(errors)));
        }
    }

    /// Reads the available bytes once: a loop would never end if the program prints faster than
    /// this reads. When the script has exited, all that it wrote is available.
    private static void readAvailable(InputStream pipe, ByteArrayOutputStream target)
            throws IOException {
        byte[] bytes = pipe.readNBytes(Math.min(pipe.available(), MAX_BYTES + 1));
        target.write(bytes, 0, Math.min(bytes.length, MAX_BYTES + 1 - target.size()));
    }

    private static String lastErrorLine(String errors) {
        String text = errors.strip();
        String last = text.substring(text.lastIndexOf('\n') + 1);
        return last.isEmpty()
                ? ""
                : ": " + last.substring(0, Math.min(last.length(), MAX_ERROR_LENGTH));
    }

    /// The hosts, in the order of the lines.
    ///
    /// @param slotsByDefault of a host without slots; null if each host must have them
    /// @throws DiscoveryException when a line is not a host: then the other lines may be wrong too
    static List<Host> parse(String text, @Nullable Integer slotsByDefault)
            throws DiscoveryException {
        SequencedMap<String, Host> hosts = new LinkedHashMap<>();
        int number = 0;
        for (String line : text.lines().toList()) {
            number++;
            String item = line.replaceFirst("#.*", "").strip();
            if (!item.isEmpty()) {
                Host host = parse(item, number, slotsByDefault);
                if (hosts.put(host.name(), host) != null) {
                    throw new DiscoveryException(
                            "line %d names host '%s' again; each may be named once"
                                    .formatted(number, host.name()));
                }
            }
        }
        return List.copyOf(hosts.values());
    }

    private static Host parse(String item, int number, @Nullable Integer slotsByDefault)
            throws DiscoveryException {
        try {
            return Host.parse(item, slotsByDefault).orElseThrow(() -> invalid(item, number));
        } catch (ConfigurationException e) {
            throw new DiscoveryException("line %d: %s".formatted(number, e.getMessage()), e);
        }
    }

    private static DiscoveryException invalid(String item, int number) {
        return new DiscoveryException(
                Host.parse(item, 1).isPresent()
                        ? "line %d gives no slots for '%s': print %s:4, or set --slots-per-host"
                                .formatted(number, item, item)
                        : "line %d is '%s', which is not a host: print lines such as gpu1:4"
                                .formatted(number, quoted(item)));
    }

    private static String quoted(String item) {
        return item.length() <= MAX_QUOTED_LENGTH
                ? item
                : item.substring(0, MAX_QUOTED_LENGTH) + "…";
    }

    /// The command line that the user gave.
    @Override
    public String toString() {
        return script;
    }
}
