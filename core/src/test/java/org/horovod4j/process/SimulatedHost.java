package org.horovod4j.process;

import static org.awaitility.Awaitility.await;

import org.junit.jupiter.api.Assumptions;

import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/// A host within this machine: a namespace of process numbers, outside of which nobody can open the
/// shared files of its processes. Sockets lead out of it, as between real hosts.
final class SimulatedHost implements AutoCloseable {
    private static final List<String> ENTER =
            List.of("unshare", "--pid", "--time", "--fork", "--mount-proc");

    private final Duration ahead;
    private final Process keeper;

    /// Makes one, or skips the test where that is not allowed.
    SimulatedHost() throws IOException {
        this(Duration.ZERO);
    }

    /// Makes one that was started earlier, so that the clock behind [System#nanoTime] is ahead.
    SimulatedHost(Duration ahead) throws IOException {
        this.ahead = ahead;
        assumePermitted();
        keeper = command("sleep", "infinity").start();
    }

    private void assumePermitted() {
        try {
            OsProcesses.runToSuccess(command("true").command().toArray(String[]::new));
        } catch (IOException e) {
            Assumptions.abort("only root may make namespaces of processes here: " + e.getMessage());
        }
    }

    private ProcessBuilder command(String... program) {
        List<String> command = new ArrayList<>(ENTER);
        command.addAll(List.of("--monotonic", Long.toString(ahead.toSeconds())));
        command.addAll(List.of(program));
        return new ProcessBuilder(command);
    }

    /// What to put before a command so that it runs on this host.
    String[] commandPrefix() {
        // The child of `unshare` is the first process of the namespace, which lives as long as that
        // one.
        ProcessHandle first =
                await().until(() -> keeper.children().findFirst(), Optional::isPresent)
                        .orElseThrow();
        return new String[] {
            "nsenter", "--target", Long.toString(first.pid()), "--pid", "--mount", "--time", "--"
        };
    }

    /// Ends the namespace and so all that runs in it.
    @Override
    public void close() {
        keeper.descendants().forEach(ProcessHandle::destroyForcibly);
        keeper.destroyForcibly();
    }
}
