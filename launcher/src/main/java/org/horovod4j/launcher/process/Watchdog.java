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

/// A small shell process beside the job that ends it when the launcher is gone.
///
/// It reads orders from a pipe whose other end the launcher alone holds. However the launcher ends,
/// by `kill -9` too, the kernel closes that pipe; the watchdog then ends every process group of the
/// job and every process that has the job's variable in its environment. Because it is there
/// anyway, it also sends the signals: Java has no call for a process group.
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
        // The environment stays behind, first of all the variable of a job around this one: its
        // watchdog would end ours before ours has ended our job.
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

    /// To be called soon after the process has ended, before its number can be another's.
    void forget(Process process) {
        watched.remove(process);
        send("forget " + process.pid());
    }

    /// Kills a process that is watched, and then its group. It goes first, and by its own number: a
    /// process that was just started leads no group before `setsid` has run. Its streams stay open,
    /// for what it has printed is still to be read.
    void kill(Process process) {
        boolean _ = process.toHandle().destroyForcibly();
        boolean _ = send("kill " + process.pid());
    }

    /// Signals the process groups, or just the processes should the watchdog itself have been
    /// killed.
    void signal(Signal signal) {
        if (!send("signal " + signal.name())) {
            log(Level.WARNING, "The watchdog of the job is gone: ranks may leave processes", null);
            watched.forEach(Process::destroyForcibly);
        }
    }

    /// Ends what is left of the job, and the watchdog with it; takes some 10 seconds at worst.
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

    /// Asks for the logger only now: finding one loads classes that a good run never needs.
    private static void log(Level level, String message, @Nullable IOException cause) {
        System.getLogger(Watchdog.class.getName()).log(level, message, cause);
    }
}
