package org.horovod4j.launcher.process;

import static java.nio.charset.StandardCharsets.UTF_8;

import org.horovod4j.ConfigurationException;
import org.horovod4j.file.SecretFile;
import org.jspecify.annotations.Nullable;

import java.io.IOException;
import java.io.InputStream;
import java.io.Writer;
import java.lang.ProcessBuilder.Redirect;
import java.lang.System.Logger.Level;
import java.net.InetAddress;
import java.net.NetworkInterface;
import java.net.SocketException;
import java.net.UnknownHostException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Consumer;
import java.util.stream.Stream;

/// This machine.
///
/// Each process leads its own session (by `setsid`). So its process number is that of its process
/// group, the terminal sends Ctrl-C only to the launcher, and one signal reaches everything that
/// the process started.
///
/// A *watchdog*, a shell process, ends the job when the launcher has ended. It reads commands from a
/// pipe. Only the launcher holds the other end, so the kernel closes the pipe however the launcher
/// ends, also by `kill -9`. The watchdog then ends every process group of the job and every process
/// that has the job's variable in its environment. It also sends signals, since Java cannot signal a
/// process group.
///
/// macOS has no `setsid`, and Windows no `sh` either. There processes share the launcher's session and
/// group, and [Watchdog] takes the place of the script. Signals go to each process and to its
/// descendants. A process whose parent has ended is not found.
///
/// The secret of the job is handed over by one file for each process, in a folder that only this
/// user can enter. A file is removed by its process when that has read it, by this class when the
/// process has ended, and all of them by the watchdog at the end of the job.
public final class LocalHost implements HostAgent {
    /// Says which job a watchdog belongs to, under another name than the job's variable.
    private static final String WATCHED_JOB = "HOROVOD_WATCHED_JOB";

    /// Empty, by the name that this system has for it.
    private static final Redirect NO_INPUT =
            Redirect.from(Objects.requireNonNull(Redirect.DISCARD.file()));

    /// Whether processes lead their own sessions and groups.
    private final boolean hasSessions;

    private @Nullable HostMachine machine;
    private final CpuBinding cpuBinding = new CpuBinding();
    private final Process watchdog;
    private final Writer commands;
    private final Path secretFolder;
    private final Map<Process, Path> secretFiles = new ConcurrentHashMap<>();
    private final Set<Process> watched = ConcurrentHashMap.newKeySet();

    private LocalHost(boolean hasSessions, Process watchdog, Path secretFolder) {
        this.hasSessions = hasSessions;
        this.watchdog = watchdog;
        this.secretFolder = secretFolder;
        this.commands = watchdog.outputWriter(UTF_8);
    }

    /// Starts the watchdog of a job.
    ///
    /// @param jobVariable the variable, in the form `NAME=value`, that every process of the job and
    ///     no other process has in its environment
    public static LocalHost open(String jobVariable) throws IOException {
        boolean hasSessions = hasSessions();
        ProcessBuilder builder =
                new ProcessBuilder(
                        hasSessions
                                ? List.of(
                                        "setsid",
                                        "sh",
                                        "-c",
                                        watchdogScript(),
                                        "horovodrun-watchdog")
                                : Watchdog.command());
        // An empty environment. If it held the variable of an outer job, the watchdog of that job
        // would end this watchdog before this one has ended its job.
        builder.environment().keySet().retainAll(Set.of("PATH", "SystemRoot"));
        builder.environment().put(WATCHED_JOB, jobVariable.replaceFirst(".*=", ""));
        builder.redirectError(ProcessBuilder.Redirect.DISCARD);
        Path secretFolder = SecretFile.createFolder();
        try {
            LocalHost host = new LocalHost(hasSessions, builder.start(), secretFolder);
            // Not as arguments, which every user of the machine can read.
            host.send(jobVariable);
            host.send(secretFolder.toString());
            return host;
        } catch (IOException e) {
            delete(secretFolder);
            throw new ConfigurationException(
                    "cannot start '%s', which guards the job: %s."
                            .formatted(builder.command().getFirst(), e.getMessage()),
                    e);
        }
    }

    private static boolean hasSessions() {
        SearchPath path = searchPath();
        boolean found = path.lookUp("setsid").isPresent() && path.lookUp("sh").isPresent();
        if (!found && System.getProperty("os.name").equals("Linux")) {
            log(
                    Level.WARNING,
                    "There is no setsid on the PATH: processes that a rank leaves behind will not be"
                            + " ended with the job. Install util-linux.",
                    null);
        }
        return found;
    }

    private static SearchPath searchPath() {
        String path = System.getenv("PATH");
        return SearchPath.of(path == null ? "" : path);
    }

    private static String watchdogScript() throws IOException {
        try (InputStream text = LocalHost.class.getResourceAsStream("watchdog.sh")) {
            return new String(Objects.requireNonNull(text).readAllBytes(), UTF_8);
        }
    }

    /// Whether `name` means this machine: one of its network interfaces has that address.
    public static boolean isNamed(String name) {
        if (name.equals("localhost")) {
            return true;
        }
        try {
            InetAddress address = InetAddress.getByName(name);
            return address.isLoopbackAddress()
                    || NetworkInterface.getByInetAddress(address) != null;
        } catch (UnknownHostException | SocketException e) {
            log(Level.DEBUG, "Taken for a remote host: " + name, e);
            return false;
        }
    }

    @Override
    public synchronized HostMachine machine() {
        if (machine == null) {
            machine = HostMachine.current();
        }
        return machine;
    }

    @Override
    public Program program(List<String> words) {
        return Program.of(words, searchPath(), JavaHome.current());
    }

    @Override
    public Process start(List<String> command, Map<String, String> variables) throws IOException {
        ProcessBuilder builder = new ProcessBuilder();
        // Ranks cannot share one keyboard: standard input is empty.
        builder.redirectInput(NO_INPUT);
        builder.environment().keySet().removeIf(LocalHost::isNotInherited);
        builder.environment().putAll(variables);
        if (hasSessions) {
            builder.command().add("setsid");
        }
        cpuBinding.bind(builder);
        builder.command().addAll(command);
        String secret = variables.get(SECRET_FILE);
        if (secret == null) {
            return start(builder);
        }
        Path file = secretFolder.resolve(UUID.randomUUID().toString());
        SecretFile.write(file, secret);
        builder.environment().put(SECRET_FILE, file.toString());
        Process process = start(builder);
        secretFiles.put(process, file);
        return process;
    }

    private Process start(ProcessBuilder builder) throws IOException {
        Process process = builder.start();
        watched.add(process);
        send("watch " + process.pid());
        return process;
    }

    /// Bash exports functions and the previous folder; ranks do not need them. The secret of an
    /// outer job is not for them.
    private static boolean isNotInherited(String variable) {
        return variable.startsWith("BASH_FUNC_")
                || variable.equals("OLDPWD")
                || variable.equals(SECRET_FILE)
                || variable.equals("HOROVOD_SECRET_KEY");
    }

    /// Never called: the launcher runs on this machine.
    @Override
    public void onLoss(Consumer<String> listener) {}

    /// To be called soon after the process has exited, before its number is used again.
    @Override
    public void ended(Process process) {
        watched.remove(process);
        send("forget " + process.pid());
        Path file = secretFiles.remove(process);
        if (file != null) {
            delete(file);
        }
    }

    /// Local pipes need no request.
    @Override
    public Duration drain(Process process) {
        return OutputReader.IDLE_TIMEOUT;
    }

    /// Kills a process and then its group. The process comes first: one that was just started leads
    /// no group until `setsid` has run. Its streams stay open, since its output is still to be
    /// read.
    @Override
    public void kill(Process process) {
        if (hasSessions) {
            boolean _ = process.toHandle().destroyForcibly();
            boolean _ = send("kill " + process.pid());
        } else {
            signalTree(process, Signal.KILL);
        }
    }

    /// Signals the process groups, or only the processes if the watchdog itself was killed.
    @Override
    public void signal(Signal signal) {
        if (!hasSessions) {
            watched.forEach(process -> signalTree(process, signal));
        } else if (!send("signal " + signal.name())) {
            log(
                    Level.WARNING,
                    "The watchdog of the job is gone: ranks may leave processes behind",
                    null);
            watched.forEach(Process::destroyForcibly);
        }
    }

    /// Without process groups: a process and those that it has started. Java sends SIGTERM in place of
    /// SIGINT, and Windows has only one way to end a process.
    private static void signalTree(Process process, Signal signal) {
        Stream.concat(process.descendants(), Stream.of(process.toHandle()))
                .forEach(
                        each -> {
                            boolean _ =
                                    signal == Signal.KILL ? each.destroyForcibly() : each.destroy();
                        });
    }

    /// Ends what is left of the job, and the watchdog. Takes about 10 seconds at worst.
    @Override
    public List<String> sweep() throws InterruptedException {
        send("sweep");
        List<String> left = watchdog.inputReader(UTF_8).lines().map(String::strip).toList();
        watchdog.waitFor();
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
        if (!watchdog.isAlive()) { // else it removes them, when the processes have ended
            secretFiles.values().forEach(LocalHost::delete);
            delete(secretFolder);
        }
    }

    private static void delete(Path file) {
        try {
            Files.deleteIfExists(file);
        } catch (IOException e) {
            log(Level.WARNING, "Cannot remove " + file + ", which is no longer needed", e);
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
        System.getLogger(LocalHost.class.getName()).log(level, message, cause);
    }
}
