package org.horovod4j.runtime.timeline;

import org.jspecify.annotations.Nullable;

import java.io.IOException;
import java.util.ArrayList;
import java.util.List;

/// One row of a trace, and its open slice.
///
/// A slice is written when it ends: only then is it known whether a tensor waited for a negotiation
/// or for a locked plan. The begin of a long slice is written earlier, so that the trace of a job
/// that hangs shows it. Slices of a row never overlap, even if the threads that report them read
/// different times.
final class TraceRow {
    enum Phase {
        IDLE,
        /// A rank has submitted the operation, and not all have.
        WAITING,
        /// All ranks agree, and earlier operations run.
        QUEUED,
        RUNNING
    }

    private static final byte[] UNFINISHED = new JsonBuilder().put("unfinished", true).bytes();

    private final TraceEventWriter traceEventWriter;
    private final int number;
    private final List<TimelineEvent.Activity> activities = new ArrayList<>();

    /// Of the open wait, until its slice is written: a tick is shown inside it.
    private List<Tick> ticks = new ArrayList<>();

    private Phase phase = Phase.IDLE;
    private String name = "";
    private long beginNanos;
    private boolean inFile;
    private long lastEndNanos = Long.MIN_VALUE;

    /// Another rank may submit the next operation before this rank has completed the current one.
    private @Nullable String nextWait;

    private long nextWaitNanos;

    /// Of the next wait.
    private List<Tick> nextTicks = new ArrayList<>();

    /// A point in time inside a wait.
    private record Tick(String name, long nanos) {}

    TraceRow(TraceEventWriter traceEventWriter, int number) {
        this.traceEventWriter = traceEventWriter;
        this.number = number;
    }

    Phase phase() {
        return phase;
    }

    /// Begins to wait, now or after the running operation. A known operation name replaces an
    /// unknown one.
    ///
    /// @param vague whether the operation name is not known yet
    void await(String wait, boolean vague, long nanos) {
        switch (phase) {
            case IDLE -> open(Phase.WAITING, wait, nanos);
            case WAITING -> {
                if (!vague) {
                    rename(wait);
                }
            }
            case QUEUED, RUNNING -> {
                if (nextWait == null) {
                    nextWaitNanos = nanos;
                    nextWait = wait;
                } else if (!vague) {
                    nextWait = wait;
                }
            }
        }
    }

    /// Marks a point in time of the wait that [#await] has begun or will begin.
    void tick(String tick, long nanos) throws IOException {
        if (phase == Phase.WAITING && inFile) {
            traceEventWriter.tick(number, tick, Math.max(nanos, beginNanos));
        } else {
            (phase == Phase.WAITING ? ticks : nextTicks).add(new Tick(tick, nanos));
        }
    }

    private void writeTicks(long endNanos) throws IOException {
        for (Tick tick : ticks) {
            traceEventWriter.tick(number, tick.name, Math.clamp(tick.nanos, beginNanos, endNanos));
        }
        ticks.clear();
    }

    void open(Phase next, String slice, long nanos) {
        phase = next;
        name = slice;
        beginNanos = Math.max(nanos, lastEndNanos);
        inFile = false;
    }

    /// Renames the open slice, if its begin is not written yet.
    void rename(String slice) {
        if (!inFile) {
            name = slice;
        }
    }

    /// Keeps an activity until the slice around it is written: with equal times, viewers take the
    /// first one for the outer one.
    void add(TimelineEvent.Activity activity) {
        activities.add(activity);
    }

    void close(long nanos) throws IOException {
        close(nanos, TraceEventWriter.NO_ARGUMENTS);
    }

    void close(long nanos, byte[] arguments) throws IOException {
        long endNanos = Math.max(nanos, beginNanos);
        if (inFile) {
            traceEventWriter.end(number, endNanos, arguments);
        } else {
            traceEventWriter.slice(number, name, beginNanos, endNanos, arguments);
        }
        writeTicks(endNanos);
        for (TimelineEvent.Activity activity : activities) {
            long begin = Math.clamp(activity.beginNanos(), beginNanos, endNanos);
            long end = Math.clamp(activity.endNanos(), begin, endNanos);
            traceEventWriter.slice(
                    number, activity.name(), begin, end, TraceEventWriter.NO_ARGUMENTS);
        }
        activities.clear();
        phase = Phase.IDLE;
        lastEndNanos = endNanos;
    }

    /// After an operation: begins the wait for the next one, if it was submitted already.
    void startNextWait() {
        if (nextWait != null) {
            open(Phase.WAITING, nextWait, nextWaitNanos);
            nextWait = null;
            List<Tick> empty = ticks;
            ticks = nextTicks;
            nextTicks = empty;
        }
    }

    /// Writes the begin of the open slice if it is older than `nanos`.
    void writeBeginIfOlderThan(long nanos) throws IOException {
        if (phase != Phase.IDLE && !inFile && beginNanos < nanos) {
            traceEventWriter.begin(number, name, beginNanos);
            inFile = true;
            writeTicks(Long.MAX_VALUE);
        }
    }

    /// Drops the open slice, because its end may be lost.
    void discardOpen(long nanos) throws IOException {
        activities.clear();
        ticks.clear();
        nextTicks.clear();
        nextWait = null;
        if (inFile && phase != Phase.IDLE) {
            close(nanos);
        }
        phase = Phase.IDLE;
    }

    /// Ends the open slice, because the file ends.
    void closeUnfinished(long nanos) throws IOException {
        if (phase != Phase.IDLE) {
            close(nanos, UNFINISHED);
        }
    }
}
