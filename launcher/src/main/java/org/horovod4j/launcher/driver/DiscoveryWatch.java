package org.horovod4j.launcher.driver;

import org.horovod4j.launcher.plan.Host;
import org.jspecify.annotations.Nullable;

import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;

/// The thread that looks for hosts while a job runs.
///
/// After an error the last known hosts stay. Errors are reported at most once a minute, so that
/// they do not hide the output of the ranks.
public final class DiscoveryWatch implements AutoCloseable {
    /// Finds the hosts of an elastic job. One thread calls it repeatedly.
    public interface Discovery {
        /// The hosts that exist now; may be empty.
        ///
        /// @throws DiscoveryException when they cannot be determined
        List<Host> find() throws DiscoveryException, InterruptedException;
    }

    private static final Duration REPORT_INTERVAL = Duration.ofMinutes(1);

    private final Discovery discovery;
    private final Duration pollInterval;
    private final Duration reportInterval;
    private final Consumer<List<Host>> hostListener;
    private final Consumer<String> messageListener;
    private final CountDownLatch closed = new CountDownLatch(1);
    private final CompletableFuture<Void> firstPoll = new CompletableFuture<>();
    private final Thread thread;

    /// Null before the first result, which is reported even if it is empty.
    private @Nullable List<Host> lastHosts;

    private boolean isFailureReported;
    private long nextReportNanos = System.nanoTime();

    /// @param pollInterval from a result to the next request
    /// @param hostListener called when the hosts have changed
    /// @param messageListener called with one sentence for an error, and for its end
    public DiscoveryWatch(
            Discovery discovery,
            Duration pollInterval,
            Consumer<List<Host>> hostListener,
            Consumer<String> messageListener) {
        this(discovery, pollInterval, REPORT_INTERVAL, hostListener, messageListener);
    }

    /// @param reportInterval the least time between two error reports
    DiscoveryWatch(
            Discovery discovery,
            Duration pollInterval,
            Duration reportInterval,
            Consumer<List<Host>> hostListener,
            Consumer<String> messageListener) {
        this.discovery = discovery;
        this.pollInterval = pollInterval;
        this.reportInterval = reportInterval;
        this.hostListener = hostListener;
        this.messageListener = messageListener;
        this.thread = Thread.ofPlatform().daemon().name("hvd-discovery").unstarted(this::run);
    }

    /// Starts the thread, and waits until it has looked once.
    ///
    /// @param cancellation when complete, this returns even if no hosts were found yet
    /// @throws DiscoveryException when the first look fails: the name of the script may be mistyped
    public void start(CompletionStage<?> cancellation)
            throws DiscoveryException, InterruptedException {
        var _ = cancellation.thenRun(() -> firstPoll.complete(null));
        thread.start();
        try {
            firstPoll.get();
        } catch (ExecutionException e) {
            throw e.getCause() instanceof DiscoveryException failure
                    ? failure
                    : new DiscoveryException("it cannot be asked: " + e.getCause(), e);
        }
    }

    private void run() {
        try {
            pollFirst();
            while (!closed.await(pollInterval.toMillis(), TimeUnit.MILLISECONDS)) {
                poll();
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt(); // by close: this thread ends
        }
    }

    private void pollFirst() throws InterruptedException {
        try {
            accept(discovery.find());
            firstPoll.complete(null);
        } catch (DiscoveryException | RuntimeException e) {
            firstPoll.completeExceptionally(e);
            closed.countDown();
        }
    }

    private void poll() throws InterruptedException {
        try {
            List<Host> hosts = discovery.find();
            if (isFailureReported) {
                messageListener.accept("host discovery works again");
                isFailureReported = false;
            }
            accept(hosts);
        } catch (DiscoveryException e) {
            if (!isFailureReported && System.nanoTime() - nextReportNanos >= 0) {
                messageListener.accept(
                        "host discovery failed, the hosts stay as they are: " + e.getMessage());
                nextReportNanos = System.nanoTime() + reportInterval.toNanos();
                isFailureReported = true;
            }
        }
    }

    private void accept(List<Host> hosts) {
        if (!hosts.equals(lastHosts)) {
            lastHosts = hosts;
            hostListener.accept(hosts);
        }
    }

    /// Returns when the thread has ended.
    @Override
    public void close() {
        closed.countDown();
        thread.interrupt();
        try {
            thread.join();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }
}
