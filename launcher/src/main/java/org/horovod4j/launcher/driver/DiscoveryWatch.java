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
/// After an error the hosts known last stay. It is told at most once a minute, so that a script
/// which flaps does not bury what the ranks print.
public final class DiscoveryWatch implements AutoCloseable {
    private static final Duration REPORT_INTERVAL = Duration.ofMinutes(1);

    private final Discovery discovery;
    private final Duration pollInterval;
    private final Duration reportInterval;
    private final Consumer<List<Host>> hostListener;
    private final Consumer<String> errorListener;
    private final CountDownLatch closed = new CountDownLatch(1);
    private final CompletableFuture<Void> firstPoll = new CompletableFuture<>();
    private final Thread thread;

    /// Null before the first answer, which is news even if it has no host.
    private @Nullable List<Host> lastHosts;

    private boolean isFailureReported;
    private long nextReportNanos = System.nanoTime();

    /// A watch that does nothing before [#start].
    ///
    /// @param pollInterval between two answers and the next question
    /// @param hostListener hears of hosts that differ from those before
    /// @param errorListener hears what went wrong, one sentence at a time
    public DiscoveryWatch(
            Discovery discovery,
            Duration pollInterval,
            Consumer<List<Host>> hostListener,
            Consumer<String> errorListener) {
        this(discovery, pollInterval, REPORT_INTERVAL, hostListener, errorListener);
    }

    /// @param reportInterval between two complaints, at least
    DiscoveryWatch(
            Discovery discovery,
            Duration pollInterval,
            Duration reportInterval,
            Consumer<List<Host>> hostListener,
            Consumer<String> errorListener) {
        this.discovery = discovery;
        this.pollInterval = pollInterval;
        this.reportInterval = reportInterval;
        this.hostListener = hostListener;
        this.errorListener = errorListener;
        this.thread = Thread.ofPlatform().daemon().name("hvd-discovery").unstarted(this::run);
    }

    /// Looks once while the caller waits, and from then on by itself.
    ///
    /// @param givenUp when complete, the caller waits no longer, and may have heard of no hosts
    /// @throws DiscoveryException when the first look fails, and with it the job: whoever has
    ///     mistyped the name of a script wants to know now
    public void start(CompletionStage<?> givenUp) throws DiscoveryException, InterruptedException {
        var _ = givenUp.thenRun(() -> firstPoll.complete(null));
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
            Thread.currentThread().interrupt(); // by close, and nothing but this thread ends
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
            accept(discovery.find());
            isFailureReported = false;
        } catch (DiscoveryException e) {
            if (!isFailureReported && System.nanoTime() - nextReportNanos >= 0) {
                errorListener.accept(
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

    /// Returns when nothing of it runs any more.
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
