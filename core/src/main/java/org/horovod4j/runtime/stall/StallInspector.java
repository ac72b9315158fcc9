package org.horovod4j.runtime.stall;

import static java.util.concurrent.TimeUnit.MILLISECONDS;

import org.horovod4j.PeerLostException;
import org.horovod4j.ShutDownException;
import org.horovod4j.option.RuntimeOptions;
import org.horovod4j.option.StallSettings;
import org.horovod4j.runtime.stall.StateReport.Stall;
import org.horovod4j.spi.ControlPlane;
import org.horovod4j.transport.CachedClock;

import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Consumer;
import java.util.function.Supplier;

/// Warns about operations, joins and changes of process sets that have waited for long because
/// ranks are missing. Ends the job when they wait too long, if the user has set a time for that.
///
/// The lowest rank that waits writes the warning. It requests the state of all ranks over the
/// control plane, which works on every transport and while programs hang.
public final class StallInspector implements AutoCloseable {
    /// The longest time between two readings of the clock. The ages of operations may be too high by
    /// this time.
    private static final long MAX_READ_INTERVAL_MILLIS = 1_000;

    /// The clock is read at least this often within the time until a warning.
    private static final int READS_PER_WARNING = 60;

    private final int rank;
    private final StallSettings settings;
    private final ControlPlane control;
    private final Supplier<RankReport> own;
    private final Consumer<String> warning;
    private final Consumer<String> shutdown;
    private final CachedClock clock;
    private final Set<String> warned = new HashSet<>();
    private final Thread thread;
    private volatile boolean closed;

    /// @param own this rank's report
    /// @param warning receives the warning, to be logged
    /// @param shutdown ends the job with a reason
    public StallInspector(
            int rank,
            StallSettings settings,
            CachedClock clock,
            ControlPlane control,
            Supplier<RankReport> own,
            Consumer<String> warning,
            Consumer<String> shutdown) {
        this.rank = rank;
        this.settings = settings;
        this.clock = clock;
        this.control = control;
        this.own = own;
        this.warning = warning;
        this.shutdown = shutdown;
        this.thread = Thread.ofPlatform().name("hvd-stall-" + rank).daemon().unstarted(this::work);
    }

    /// Starts the thread, unless the option switches it off.
    public void start() {
        if (settings.warning().isPositive()) {
            clock.setReadRegularly();
            thread.start();
        }
    }

    @Override
    public void close() {
        closed = true;
        LockSupport.unpark(thread);
    }

    private void work() {
        long readNanos =
                MILLISECONDS.toNanos(
                        Math.clamp(
                                settings.warning().toMillis() / READS_PER_WARNING,
                                1,
                                MAX_READ_INTERVAL_MILLIS));
        long dueNanos = clock.nanoTime();
        while (!closed) {
            if (clock.nanoTime() - dueNanos >= 0) {
                long next = MILLISECONDS.toNanos(inspect());
                dueNanos = clock.nanoTime() + next;
            }
            LockSupport.parkNanos(this, Math.min(readNanos, dueNanos - clock.cachedNanos()));
        }
    }

    /// Checks once.
    ///
    /// @return milliseconds until the next check
    long inspect() {
        List<StallCandidate> old = new ArrayList<>();
        long next = settings.warning().toMillis();
        Set<String> present = new HashSet<>();
        for (StallCandidate stallCandidate : StallCandidate.of(own.get())) {
            long due = nextDue(stallCandidate);
            if (due <= 0) {
                old.add(stallCandidate);
            } else {
                next = Math.min(next, due);
            }
            present.add(stallCandidate.key());
        }
        warned.retainAll(present);
        if (!old.isEmpty() && !closed) {
            report(old);
            long shutdown = shutdownMillis();
            next = shutdown == 0 ? next : Math.min(next, Math.max(1, shutdown / 4));
        }
        return Math.max(next, 1);
    }

    /// When a wait needs the next check: at the warning time, and after the warning at the shutdown
    /// time.
    private long nextDue(StallCandidate stallCandidate) {
        boolean told = warned.contains(stallCandidate.key());
        long limit = told ? shutdownMillis() : settings.warning().toMillis();
        return limit == 0 ? settings.warning().toMillis() : limit - stallCandidate.millis();
    }

    private long shutdownMillis() {
        return settings.shutdown().toMillis();
    }

    private void report(List<StallCandidate> old) {
        StateReport state;
        try {
            state = StateReport.collect(control);
        } catch (ShutDownException | PeerLostException e) {
            closed = true; // the rank is leaving, which ends all waits
            return;
        }
        List<String> paragraphs = new ArrayList<>();
        boolean over = false;
        for (StallCandidate stallCandidate : old) {
            Stall stall = stallCandidate.stall(state, settings.warning().toMillis());
            if (stall.missing().isEmpty()) {
                continue; // no rank is missing now; one may be at a later check
            }
            warned.add(stallCandidate.key());
            if (!stall.arrived().isEmpty() && stall.arrived().getFirst() == rank) {
                paragraphs.add(stallCandidate.explain(state, stall));
                over |= shutdownMillis() > 0 && stallCandidate.millis() >= shutdownMillis();
            }
        }
        if (!paragraphs.isEmpty() && !closed) {
            warnOrShutDown(String.join("\n", paragraphs), over);
        }
    }

    private void warnOrShutDown(String story, boolean over) {
        if (over) {
            shutdown.accept(
                    """
                    stalled for longer than %s=%s allows
                    %s"""
                            .formatted(
                                    RuntimeOptions.STALL_SHUTDOWN_TIME,
                                    RuntimeOptions.STALL_SHUTDOWN_TIME.format(settings.shutdown()),
                                    story));
        } else {
            warning.accept(
                    """
                    %s
                    Let every rank make the same calls; a branch that only some ranks take is the usual cause."""
                            .formatted(story));
        }
    }
}
