package org.horovod4j.runtime.stall;

import org.horovod4j.PeerLostException;
import org.horovod4j.ShutDownException;
import org.horovod4j.option.StallSettings;
import org.horovod4j.runtime.stall.RankReport.OfSet;
import org.horovod4j.runtime.stall.RankReport.Pending;
import org.horovod4j.runtime.stall.StateReport.Stall;
import org.horovod4j.spi.ControlPlane;

import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Consumer;
import java.util.function.Supplier;

/// Warns of operations that have waited for long because some ranks have not submitted them, and ends the
/// job when they wait for too long, if asked to.
///
/// The lowest rank that waits does the talking. It asks all ranks for their state over the control plane,
/// which works on every transport and while programs hang.
public final class StallInspector implements AutoCloseable {
    private final int rank;
    private final StallSettings settings;
    private final ControlPlane control;
    private final Supplier<RankReport> own;
    private final Consumer<String> warning;
    private final Consumer<String> shutdown;
    private final Set<String> warned = new HashSet<>();
    private final Thread thread;
    private volatile boolean closed;

    /// @param own this rank's report
    /// @param warning takes what is to be logged
    /// @param shutdown ends the job, for the reason given
    public StallInspector(
            int rank,
            StallSettings settings,
            ControlPlane control,
            Supplier<RankReport> own,
            Consumer<String> warning,
            Consumer<String> shutdown) {
        this.rank = rank;
        this.settings = settings;
        this.control = control;
        this.own = own;
        this.warning = warning;
        this.shutdown = shutdown;
        this.thread = Thread.ofPlatform().name("hvd-stall-" + rank).daemon().unstarted(this::work);
    }

    /// Begins to watch, unless told not to.
    public void start() {
        if (settings.warning().isPositive()) {
            thread.start();
        }
    }

    @Override
    public void close() {
        closed = true;
        LockSupport.unpark(thread);
    }

    private void work() {
        while (!closed) {
            LockSupport.parkNanos(this, inspect() * 1_000_000);
        }
    }

    /// Looks once.
    ///
    /// @return milliseconds until there may be something to see again
    long inspect() {
        long warnMillis = settings.warning().toMillis();
        List<Aged> old = new ArrayList<>();
        long next = warnMillis;
        Set<String> present = new HashSet<>();
        for (OfSet set : own.get().sets()) {
            for (Pending pending : set.pending()) {
                long due = nextDue(pending, set);
                if (due <= 0) {
                    old.add(new Aged(set, pending));
                } else {
                    next = Math.min(next, due);
                }
                present.add(key(set, pending));
            }
        }
        warned.retainAll(present);
        if (!old.isEmpty() && !closed) {
            report(old);
            next = Math.min(next, Math.max(1, shutdownMillis() / 4));
        }
        return Math.max(next, 1);
    }

    /// When an operation is next to be looked at: at the warning time, and, once warned of, at the time of
    /// the shutdown.
    private long nextDue(Pending pending, OfSet set) {
        boolean told = warned.contains(key(set, pending));
        long limit = told ? shutdownMillis() : settings.warning().toMillis();
        return limit == 0 ? settings.warning().toMillis() : limit - pending.millis();
    }

    private long shutdownMillis() {
        return settings.shutdown().toMillis();
    }

    private void report(List<Aged> old) {
        StateReport state;
        try {
            state = StateReport.ask(control);
        } catch (ShutDownException | PeerLostException e) {
            closed = true; // the end of the world explains all stalls
            return;
        }
        List<String> stories = new ArrayList<>();
        boolean over = false;
        for (Aged aged : old) {
            Stall stall = state.stall(aged.set, aged.pending.name());
            boolean mine = !stall.having().isEmpty() && stall.having().getFirst() == rank;
            if (!stall.lacking().isEmpty() && mine) {
                stories.add(state.explain(aged.set, aged.pending, stall));
                over |= shutdownMillis() > 0 && aged.pending.millis() >= shutdownMillis();
            }
            warned.add(key(aged.set, aged.pending));
        }
        if (stories.isEmpty() || closed) {
            return;
        }
        String story = String.join("\n", stories);
        if (over) {
            shutdown.accept(
                    """
                    stalled for longer than HOROVOD_STALL_SHUTDOWN_TIME_SECONDS=%d allows
                    %s"""
                            .formatted(settings.shutdown().toSeconds(), story));
        } else {
            warning.accept(
                    """
                    %s
                    Let every rank submit the same operations; a branch that only some ranks take is the usual cause."""
                            .formatted(story));
        }
    }

    private static String key(OfSet set, Pending pending) {
        return set.id() + " " + pending.name();
    }

    private record Aged(OfSet set, Pending pending) {}
}
