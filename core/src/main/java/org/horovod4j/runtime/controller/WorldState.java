package org.horovod4j.runtime.controller;

import org.horovod4j.HorovodException;
import org.horovod4j.PeerLostException;
import org.horovod4j.ShutDownException;
import org.horovod4j.spi.ControlPlane;
import org.horovod4j.spi.Loss;
import org.horovod4j.transport.LinkBrokenException;
import org.horovod4j.transport.Liveness;
import org.jspecify.annotations.Nullable;

import java.time.Duration;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;

/// What this rank knows of its world: which operation it is at, who is gone, what is disputed.
///
/// Everyone who waits asks [#check], and so learns within moments why waiting is in vain.
public final class WorldState implements Liveness, ControlPlane.Listener {
    private static final long NONE = -1;

    /// How long to wait for the story behind a failure. Heartbeats may need longer, but most losses are
    /// known within milliseconds.
    private static final Duration NEWS_PATIENCE = Duration.ofSeconds(3);

    private final CountDownLatch lossKnown = new CountDownLatch(1);

    /// The first rank to leave in order, and the first to fail.
    private volatile @Nullable Loss departure;

    private volatile @Nullable Loss failure;
    private volatile long disputed = NONE;

    /// The operation now running, or the last one; written by whoever runs it.
    private volatile long current;

    private volatile long completed;
    private volatile boolean stopped;
    private volatile @Nullable LongWait longWait;

    /// Begins the next operation.
    ///
    /// @return its number, from 1
    long begin() {
        long number = current + 1;
        current = number;
        return number;
    }

    /// Notes that an operation is over on this rank, whether it went well or all disagreed.
    void complete(long number) {
        completed = number;
    }

    /// How many operations are over.
    public long completed() {
        return completed;
    }

    /// Makes the operation that is running, if any, give up: this rank leaves.
    public void stop() {
        stopped = true;
    }

    @Override
    public void check() {
        if (stopped) {
            throw new ShutDownException(
                    "this rank called shutdown while the operation was running");
        }
        if (disputed == current) {
            throw new DisputedException();
        }
        Loss missed = missed();
        if (missed != null) {
            throw describe(missed);
        }
        LongWait wait = longWait;
        if (wait != null) {
            wait.check();
        }
    }

    /// Lets `wait` hear of every check from now on.
    void watch(LongWait wait) {
        longWait = wait;
    }

    /// Who is missed by the operation now running. After a departure others may well fail for want of the
    /// one that left, so it is named first; but operations that it had completed may still be running
    /// here, and a failure ends these too, as it ends operation 0: the start, when ranks measure links.
    private @Nullable Loss missed() {
        Loss left = departure;
        if (left != null && current > left.completedOperations()) {
            return left;
        }
        Loss failed = failure;
        boolean ends = failed != null && (current > failed.completedOperations() || current == 0);
        return ends ? failed : null;
    }

    @Override
    public synchronized void lost(Loss news) {
        if (news.orderly() && departure == null) {
            departure = news;
        } else if (!news.orderly() && failure == null) {
            failure = news;
        }
        lossKnown.countDown();
    }

    @Override
    public void disputed(long operation) {
        disputed = operation;
    }

    /// The better story of a failure seen here: the loss behind it, when news of one comes soon.
    public HorovodException explain(HorovodException seen) {
        try {
            lossKnown.await(NEWS_PATIENCE.toMillis(), TimeUnit.MILLISECONDS);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
        Loss known = missed();
        if (known == null) {
            known = failure == null ? departure : failure;
        }
        if (known != null) {
            return describe(known);
        }
        return seen instanceof LinkBrokenException broken
                ? new PeerLostException(
                        broken.peer(),
                        "an unknown host",
                        "rank %d is lost: %s".formatted(broken.peer(), broken.getMessage()),
                        broken)
                : seen;
    }

    private static HorovodException describe(Loss loss) {
        if (loss.rank() < 0) {
            return new PeerLostException(loss.rank(), loss.host(), loss.reason(), null);
        }
        String who = "rank %d on %s".formatted(loss.rank(), loss.host());
        return loss.orderly()
                ? new ShutDownException(
                        """
                        %s %s, so no further collective can run
                        Let every rank call the same collectives before shutdown."""
                                .formatted(who, loss.reason()))
                : new PeerLostException(
                        loss.rank(),
                        loss.host(),
                        """
                        %s is lost: %s
                        Its own output tells why; this rank is well, but cannot go on without it."""
                                .formatted(who, loss.reason()),
                        null);
    }
}
