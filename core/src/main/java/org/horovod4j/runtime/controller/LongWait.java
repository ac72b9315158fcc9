package org.horovod4j.runtime.controller;

import org.horovod4j.transport.Clock;

/// Tells the control plane, once, that this rank has waited in an operation for a quarter of a second.
///
/// Ranks at different operations may each wait for a message that nobody is going to send, and then no
/// foreign stamp gives them away: one in a tree waits for its child, which waits for its neighbour in a
/// ring. The control plane compares what the waiting ranks report instead. Ranks that merely wait for a
/// late one all report the same, and nothing comes of it.
///
/// Used by the one thread that runs the operation.
final class LongWait {
    private static final long LONG_NANOS = 250_000_000;

    private final Clock clock;
    private final Report report;
    private long operation;
    private long stamp;
    private long sinceNanos;
    private State state = State.TOLD;

    private enum State {
        /// The operation has not waited yet, so that no time was taken: most never do.
        RUNNING,
        WAITING,
        TOLD
    }

    /// Where a long wait is told.
    @FunctionalInterface
    interface Report {
        void waiting(long operation, long stamp);
    }

    LongWait(Clock clock, Report report) {
        this.clock = clock;
        this.report = report;
    }

    void begin(long operation, long stamp) {
        this.operation = operation;
        this.stamp = stamp;
        this.state = State.RUNNING;
    }

    /// Called again and again by whoever waits.
    void check() {
        switch (state) {
            case RUNNING -> {
                sinceNanos = clock.nanoTime();
                state = State.WAITING;
            }
            case WAITING -> {
                if (clock.nanoTime() - sinceNanos > LONG_NANOS) {
                    state = State.TOLD;
                    report.waiting(operation, stamp);
                }
            }
            case TOLD -> {}
        }
    }
}
