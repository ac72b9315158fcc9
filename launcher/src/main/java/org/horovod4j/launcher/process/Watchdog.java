package org.horovod4j.launcher.process;

import static java.nio.charset.StandardCharsets.UTF_8;

import org.horovod4j.ConfigurationException;
import org.jspecify.annotations.Nullable;

import java.io.IOException;
import java.io.InputStream;
import java.io.Writer;
import java.lang.System.Logger.Level;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;

/// A shell process that ends the job when the launcher has ended.
///
/// It reads commands from a pipe. Only the launcher holds the other end, so the kernel closes the
/// pipe however the launcher ends, also by `kill -9`. The watchdog then ends every process group of
/// the job and every process that has the job's variable in its environment. It also sends signals,
/// since Java cannot signal a process group.
final class Watchdog implements AutoCloseable {
    private final Process shell;
    private final Writer commands;
    private final Set<Process> watched = ConcurrentHashMap.newKeySet();

    private Watchdog(Process shell) {
        this.shell = shell;
        this.commands = shell.outputWriter(UTF_8);
    }

    static Watchdog start(String jobVariable) throws IOException {
        ProcessBuilder builder =
                new ProcessBuilder(
                        "setsid", "sh", "-c", script(), "horovodrun-watchdog", jobVariable);
        // An empty environment. If it held the variable of an outer job, the watchdog of that job
        // would end this watchdog before this one has ended its job.
        Map<String, String> environment = builder.environment();
        environment.keySet().retainAll(Set.of("PATH"));
        builder.redirectError(ProcessBuilder.Redirect.DISCARD);
        try {
            return new Watchdog(builder.start());
        } catch (IOException e) {
            throw new ConfigurationException(
                    "cannot start 'setsid sh', which guards the job: %s. Install util-linux."
                            .formatted(e.getMessage()),
                    e);
        }
    }

    private static String script() throws IOException {
        try (InputStream text = Watchdog.class.getResourceAsStream("watchdog.sh")) {
            return new String(Objects.requireNonNull(text).readAllBytes(), UTF_8);
        }
    }

    void watch(Process process) {
        watched.add(process);
        send("watch " + process.pid());
    }

    /// To be called soon after the process has exited, before its number is used again.
    void forget(Process process) {
        watched.remove(process);
        send("forget " + process.pid());
    }

    /// Kills a process and then its group. The process comes first: one that was just started leads
    /// no group until `setsid` has run. Its streams stay open, since its output is still to be
    /// read.
    void kill(Process process) {
        boolean _ = process.toHandle().destroyForcibly();
        boolean _ = send("kill " + process.pid());
    }

    /// Signals the process groups, or only the processes if the watchdog itself was killed.
    void signal(Signal signal) {
        if (!send("signal " + signal.name())) {
            log(
                    Level.WARNING,
                    "The watchdog of the job is gone: ranks may leave processes behind",
                    null);
            watched.forEach(Process::destroyForcibly);
        }
    }

    /// Ends what is left of the job, and the watchdog. Takes about 10 seconds at worst.
    ///
    /// @return number and command line of each process that was left
    List<String> sweep() throws InterruptedException {
        send("sweep");
        List<String> left = shell.inputReader(UTF_8).lines().map(String::strip).toList();
        shell.waitFor();
        return left;
    }

    /// Closes the pipe, which ends the job if [#sweep] has not done so.
    @Override
    public void close() {
        try {
            commands.close();
        } catch (IOException e) {
            log(Level.DEBUG, "The watchdog was gone already", e);
        }
    }

    private synchronized boolean send(String line) {
        try {
            commands.write(line + "\n");
            commands.flush();
            return true;
        } catch (IOException e) {
            log(Level.DEBUG, "The watchdog did not take: " + line, e);
            return false;
        }
    }

    /// Gets the logger on demand: it loads classes that a successful run does not need.
    private static void log(Level level, String message, @Nullable IOException cause) {
        System.getLogger(Watchdog.class.getName()).log(level, message, cause);
    }
}
