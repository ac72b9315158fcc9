package org.horovod4j.runtime.timeline;

import org.jspecify.annotations.Nullable;

import java.io.IOException;
import java.util.ArrayList;
import java.util.List;

/// One row of a trace, and what goes on there now.
///
/// A slice is written when it ends: only then is it known whether a tensor waited for a negotiation
/// or for a locked plan. One that lasts long is begun in the file before, so that a job that hangs
/// shows where. Slices of a row never overlap, whatever the clocks of the threads say that report
/// them.
final class TraceRow {
    enum Phase {
        IDLE,
        /// Some rank has asked for the operation; nobody knows yet when all have.
        WAITING,
        /// All have asked, and operations before this one run.
        QUEUED,
        RUNNING
    }

    private static final byte[] UNFINISHED = new JsonBuilder().put("unfinished", true).bytes();

    private final TraceEventWriter traceEventWriter;
    private final int number;
    private final List<TimelineEvent.Activity> activities = new ArrayList<>();

    private Phase phase = Phase.IDLE;
    private String name = "";
    private long beginNanos;
    private boolean inFile;
    private long lastEndNanos = Long.MIN_VALUE;

    /// A rank that is done with an operation may ask for the next one before this rank is done.
    private @Nullable String nextWait;

    private long nextWaitNanos;

    TraceRow(TraceEventWriter traceEventWriter, int number) {
        this.traceEventWriter = traceEventWriter;
        this.number = number;
    }

    int number() {
        return number;
    }

    Phase phase() {
        return phase;
    }

    /// Begins to wait, now or as soon as the running operation is over. A known name replaces a
    /// vague one.
    ///
    /// @param vague whether the operation is not known by name yet
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

    void open(Phase next, String slice, long nanos) {
        phase = next;
        name = slice;
        beginNanos = Math.max(nanos, lastEndNanos);
        inFile = false;
    }

    /// Gives the open slice another name, if it is not too late.
    void rename(String slice) {
        if (!inFile) {
            name = slice;
        }
    }

    /// Keeps an activity until the slice around it is written: with equal times, viewers take the
    /// first for the outer one.
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

    /// After an operation: goes on with the wait for the next one, if that has begun already.
    void startNextWait() {
        if (nextWait != null) {
            open(Phase.WAITING, nextWait, nextWaitNanos);
            nextWait = null;
        }
    }

    /// Writes the begin of a slice that is still open although it began before `nanos`.
    void writeBeginIfOlderThan(long nanos) throws IOException {
        if (phase != Phase.IDLE && !inFile && beginNanos < nanos) {
            traceEventWriter.begin(number, name, beginNanos);
            inFile = true;
        }
    }

    /// Leaves out what is open, since its end may have been lost.
    void discardOpen(long nanos) throws IOException {
        activities.clear();
        nextWait = null;
        if (inFile && phase != Phase.IDLE) {
            close(nanos);
        }
        phase = Phase.IDLE;
    }

    /// Ends what is open because the file ends.
    void closeUnfinished(long nanos) throws IOException {
        if (phase != Phase.IDLE) {
            close(nanos, UNFINISHED);
        }
    }
}
