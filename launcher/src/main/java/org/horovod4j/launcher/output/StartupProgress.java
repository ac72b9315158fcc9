package org.horovod4j.launcher.output;

import org.jspecify.annotations.Nullable;

import java.util.BitSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/// Shows on a terminal, while a job starts, how many hosts are ready, then how many ranks have
/// joined, and the slowest host.
///
/// A separate thread draws the latest state: callers hold locks that the job needs, and a user can
/// stop a terminal. The thread ends when all are ready, or with [#close].
public final class StartupProgress implements AutoCloseable {
    private final LauncherConsole launcherConsole;
    private final String unit;
    private final List<String> hosts;
    private final BitSet ready = new BitSet();
    private final Thread thread;
    private boolean closed;

    private StartupProgress(LauncherConsole launcherConsole, String unit, List<String> hosts) {
        this.launcherConsole = launcherConsole;
        this.unit = unit;
        this.hosts = List.copyOf(hosts);
        this.thread = Thread.ofPlatform().daemon().name("hvd-progress").unstarted(this::draw);
    }

    /// Shows ranks; none is ready yet.
    ///
    /// @param hosts the host of each rank
    public static StartupProgress show(LauncherConsole launcherConsole, List<String> hosts) {
        return show(new StartupProgress(launcherConsole, "ranks", hosts));
    }

    /// Shows hosts; none is ready yet. [#joined] takes the index of a host.
    public static StartupProgress showHosts(LauncherConsole launcherConsole, List<String> hosts) {
        return show(new StartupProgress(launcherConsole, "hosts", hosts));
    }

    private static StartupProgress show(StartupProgress startupProgress) {
        if (startupProgress.launcherConsole.isTerminal()) {
            startupProgress.thread.start();
        }
        return startupProgress;
    }

    /// A rank has joined, or a host is ready. Does not block; may be called twice.
    public synchronized void joined(int rank) {
        ready.set(rank);
        notifyAll();
    }

    /// Returns when the status line is erased.
    @Override
    public void close() {
        synchronized (this) {
            closed = true;
            notifyAll();
        }
        try {
            thread.join();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    private void draw() {
        String shown = null;
        try {
            for (String line = next(shown); line != null; line = next(shown)) {
                launcherConsole.status(line);
                shown = line;
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt(); // never happens; only this thread would end
        }
        launcherConsole.eraseStatus();
    }

    /// Waits for a line that differs from the one shown; null at the end.
    private synchronized @Nullable String next(@Nullable String shown) throws InterruptedException {
        while (!closed && ready.cardinality() < hosts.size()) {
            String line = line();
            if (!line.equals(shown)) {
                return line;
            }
            wait();
        }
        return null;
    }

    /// As in "5 of 8 ranks ready, waiting for host2 (1 of 4)".
    synchronized String line() {
        String line = "%d of %d %s ready".formatted(ready.cardinality(), hosts.size(), unit);
        Map<String, Integer> missing = new LinkedHashMap<>();
        Map<String, Integer> slots = new LinkedHashMap<>();
        for (int rank = 0; rank < hosts.size(); rank++) {
            slots.merge(hosts.get(rank), 1, Integer::sum);
            missing.merge(hosts.get(rank), ready.get(rank) ? 0 : 1, Integer::sum);
        }
        if (slots.size() < 2) {
            return line;
        }
        String slowest =
                missing.entrySet().stream()
                        .max(Map.Entry.comparingByValue())
                        .orElseThrow()
                        .getKey();
        int all = slots.getOrDefault(slowest, 0);
        return all == 1
                ? "%s, waiting for %s".formatted(line, slowest)
                : "%s, waiting for %s (%d of %d)"
                        .formatted(line, slowest, all - missing.getOrDefault(slowest, 0), all);
    }
}
