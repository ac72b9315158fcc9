package org.horovod4j.launcher.elastic;

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
    private static final Duration QUIET = Duration.ofMinutes(1);

    private final Discovery discovery;
    private final Duration pause;
    private final Duration quiet;
    private final Consumer<List<Host>> found;
    private final Consumer<String> complaints;
    private final CountDownLatch closed = new CountDownLatch(1);
    private final CompletableFuture<Void> first = new CompletableFuture<>();
    private final Thread thread;

    /// Null before the first answer, which is news even if it has no host.
    private @Nullable List<Host> last;

    private boolean isFailureTold;
    private long quietUntilNanos = System.nanoTime();

    /// A watch that does nothing before [#start].
    ///
    /// @param pause between two answers and the next question
    /// @param found hears of hosts that differ from those before
    /// @param complaints hears what went wrong, one sentence at a time
    public DiscoveryWatch(
            Discovery discovery,
            Duration pause,
            Consumer<List<Host>> found,
            Consumer<String> complaints) {
        this(discovery, pause, QUIET, found, complaints);
    }

    /// @param quiet between two complaints, at least
    DiscoveryWatch(
            Discovery discovery,
            Duration pause,
            Duration quiet,
            Consumer<List<Host>> found,
            Consumer<String> complaints) {
        this.discovery = discovery;
        this.pause = pause;
        this.quiet = quiet;
        this.found = found;
        this.complaints = complaints;
        this.thread = Thread.ofPlatform().daemon().name("hvd-discovery").unstarted(this::watch);
    }

    /// Looks once while the caller waits, and from then on by itself.
    ///
    /// @param givenUp when complete, the caller waits no longer, and may have heard of no hosts
    /// @throws DiscoveryException when the first look fails, and with it the job: whoever has
    ///     mistyped the name of a script wants to know now
    public void start(CompletionStage<?> givenUp) throws DiscoveryException, InterruptedException {
        var _ = givenUp.thenRun(() -> first.complete(null));
        thread.start();
        try {
            first.get();
        } catch (ExecutionException e) {
            throw e.getCause() instanceof DiscoveryException failure
                    ? failure
                    : new DiscoveryException("it cannot be asked: " + e.getCause(), e);
        }
    }

    private void watch() {
        try {
            lookFirst();
            while (!closed.await(pause.toMillis(), TimeUnit.MILLISECONDS)) {
                look();
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt(); // by close, and nothing but this thread ends
        }
    }

    private void lookFirst() throws InterruptedException {
        try {
            accept(discovery.find());
            first.complete(null);
        } catch (DiscoveryException | RuntimeException e) {
            first.completeExceptionally(e);
            closed.countDown();
        }
    }

    private void look() throws InterruptedException {
        try {
            accept(discovery.find());
            isFailureTold = false;
        } catch (DiscoveryException e) {
            if (!isFailureTold && System.nanoTime() - quietUntilNanos >= 0) {
                complaints.accept(
                        "host discovery failed, the hosts stay as they are: " + e.getMessage());
                quietUntilNanos = System.nanoTime() + quiet.toNanos();
                isFailureTold = true;
            }
        }
    }

    private void accept(List<Host> hosts) {
        if (!hosts.equals(last)) {
            last = hosts;
            found.accept(hosts);
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
