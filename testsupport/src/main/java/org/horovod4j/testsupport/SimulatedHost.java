package org.horovod4j.testsupport;

import static org.awaitility.Awaitility.await;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/// A second host on this machine: a namespace of process ids. Processes outside it cannot open the
/// shared memory of processes inside it. Sockets work across, as between real hosts.
public final class SimulatedHost implements AutoCloseable {
    private static final List<String> ENTER =
            List.of("unshare", "--pid", "--time", "--fork", "--mount-proc");

    private final Duration clockOffset;
    private final Process keeper;

    /// Creates a host, or skips the test without the right to create namespaces.
    public SimulatedHost() throws IOException, InterruptedException {
        this(Duration.ZERO);
    }

    /// Creates a host that booted earlier: its [System#nanoTime] is ahead by `clockOffset`.
    public SimulatedHost(Duration clockOffset) throws IOException, InterruptedException {
        this.clockOffset = clockOffset;
        assumeTrue(
                Processes.run(command("true").toArray(String[]::new)) == 0,
                "needs the right to create namespaces of processes (root)");
        keeper = new ProcessBuilder(command("sleep", "infinity")).start();
    }

    private List<String> command(String... program) {
        List<String> command = new ArrayList<>(ENTER);
        command.addAll(List.of("--monotonic", Long.toString(clockOffset.toSeconds())));
        command.addAll(List.of(program));
        return command;
    }

    /// The words before a command that runs it on this host.
    public String[] commandPrefix() {
        // The child of `unshare` is the first process of the namespace. The namespace ends with it.
        ProcessHandle first =
                await().until(() -> keeper.children().findFirst(), Optional::isPresent)
                        .orElseThrow();
        return new String[] {
            "nsenter", "--target", Long.toString(first.pid()), "--pid", "--mount", "--time", "--"
        };
    }

    /// Ends the namespace and all its processes.
    @Override
    public void close() {
        keeper.descendants().forEach(ProcessHandle::destroyForcibly);
        keeper.destroyForcibly();
    }
}
