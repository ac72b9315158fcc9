package org.horovod4j.launcher.process;

import java.io.File;
import java.io.IOException;
import java.net.InetAddress;
import java.net.NetworkInterface;
import java.net.SocketException;
import java.net.UnknownHostException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.function.Consumer;

/// This machine.
///
/// Each process leads its own session (by `setsid`). So its process number is that of its process
/// group, the terminal sends Ctrl-C only to the launcher, and one signal reaches everything that
/// the process started.
public final class LocalHost implements HostAgent {
    private static final File DEV_NULL = new File("/dev/null");

    private final Watchdog watchdog;

    private LocalHost(Watchdog watchdog) {
        this.watchdog = watchdog;
    }

    /// Starts the watchdog of a job.
    ///
    /// @param jobVariable the variable, in the form `NAME=value`, that every process of the job and
    ///     no other process has in its environment
    public static LocalHost open(String jobVariable) throws IOException {
        return new LocalHost(Watchdog.start(jobVariable));
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
            System.getLogger(LocalHost.class.getName())
                    .log(System.Logger.Level.DEBUG, "Taken for a remote host: " + name, e);
            return false;
        }
    }

    @Override
    public Program program(List<String> words) {
        String path = System.getenv("PATH");
        return Program.of(words, SearchPath.of(path == null ? "" : path), JavaHome.current());
    }

    @Override
    public Process start(List<String> command, Map<String, String> variables) throws IOException {
        List<String> words = new ArrayList<>();
        words.add("setsid");
        words.addAll(command);
        ProcessBuilder builder = new ProcessBuilder(words);
        // Ranks cannot share one keyboard: standard input is empty.
        builder.redirectInput(DEV_NULL);
        builder.environment().keySet().removeIf(LocalHost::isShellState);
        builder.environment().putAll(variables);
        Process process = builder.start();
        watchdog.watch(process);
        return process;
    }

    /// Bash exports functions and the previous folder; ranks do not need them.
    private static boolean isShellState(String variable) {
        return variable.startsWith("BASH_FUNC_") || variable.equals("OLDPWD");
    }

    /// Never called: the launcher runs on this machine.
    @Override
    public void onLoss(Consumer<String> listener) {}

    @Override
    public void ended(Process process) {
        watchdog.forget(process);
    }

    /// Local pipes need no request.
    @Override
    public Duration drain(Process process) {
        return OutputReader.IDLE_TIMEOUT;
    }

    @Override
    public void kill(Process process) {
        watchdog.kill(process);
    }

    @Override
    public void signal(Signal signal) {
        watchdog.signal(signal);
    }

    @Override
    public List<String> sweep() throws InterruptedException {
        return watchdog.sweep();
    }

    @Override
    public void close() {
        watchdog.close();
    }
}
