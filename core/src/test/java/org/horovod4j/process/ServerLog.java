package org.horovod4j.process;

import static org.awaitility.Awaitility.await;

import org.horovod4j.rendezvous.RendezvousServer;

import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.logging.Handler;
import java.util.logging.Level;
import java.util.logging.LogRecord;
import java.util.logging.Logger;

/// Captures the log of a rendezvous server in this JVM, as an application does that configures
/// `java.util.logging`.
final class ServerLog extends Handler implements AutoCloseable {
    private static final Logger SERVER = Logger.getLogger(RendezvousServer.class.getPackageName());

    private final List<String> lines = new CopyOnWriteArrayList<>();

    /// Captures lines from now on, until it is closed.
    static ServerLog open() {
        ServerLog log = new ServerLog();
        SERVER.setLevel(Level.FINE);
        SERVER.setUseParentHandlers(false);
        SERVER.addHandler(log);
        return log;
    }

    void awaitWords(String words) {
        await("the server logs '" + words + "'")
                .atMost(TestJob.TIMEOUT)
                .until(() -> lines.stream().anyMatch(line -> line.contains(words)));
    }

    @Override
    public void publish(LogRecord entry) {
        lines.add(entry.getMessage());
    }

    @Override
    public void flush() {}

    @Override
    public void close() {
        SERVER.removeHandler(this);
        SERVER.setUseParentHandlers(true);
        SERVER.setLevel(null);
    }
}
