package org.horovod4j.collectives;

import org.horovod4j.collectives.algorithm.StreamedAllreduce;
import org.horovod4j.log.Log;
import org.horovod4j.option.StreamingStoresChoice;
import org.jspecify.annotations.Nullable;

import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.util.Arrays;
import java.util.function.BooleanSupplier;

/// Decides for each large allreduce within a host whether it is a [StreamedAllreduce]. Member 0
/// decides for all.
///
/// Which way is faster depends on which caches the cores share, and on a virtual machine that
/// changes while a job runs. So both ways are timed, for each power of two of sizes. In a trial a few
/// operations in a row use the other way. If they are faster than those before and after them, it
/// becomes the way of this size.
///
/// Trials come as often as costs one percent of the time: seldom if the other way was much slower in
/// the last one, but at least after 1,024 operations. A trial comes earlier if operations become
/// 1.5 times as slow. Results do not depend on the way.
final class StreamingTrials {
    private static final Logger LOG = Log.of(StreamingTrials.class);

    /// The operations between two trials. They become at most twice as many at a time, because the first
    /// trials run code that is not compiled yet.
    private static final int FIRST_INTERVAL = 8;

    private static final int MIN_INTERVAL = 64;

    private static final int MAX_INTERVAL = 1024;

    /// The least number of operations before an early trial, and the least part of the interval. Operations
    /// of one size may cost differently, so they can seem slower again and again.
    private static final int MIN_EARLY_INTERVAL = 32;

    private static final int EARLY_DIVISOR = 4;

    /// The operations of a turn. In a trial the first one of a turn is not counted, because the
    /// caches are in the state that the other way has left.
    private static final int TURN_OPERATIONS = 3;

    /// Which part of the time trials may cost.
    private static final double TRIAL_SHARE = 0.01;

    /// How much faster streaming stores must be. They take bandwidth of the memory from the program, and
    /// small differences should not change the way all the time.
    private static final double MIN_GAIN = 1.1;

    /// How much slower operations must become for an early trial.
    private static final double SLOWER = 1.5;

    private final StreamingStoresChoice choice;
    private final BooleanSupplier available;
    private final @Nullable SizeClass[] sizeClasses = new SizeClass[Long.SIZE];

    /// Whether the last change, for any size, was to streaming stores. New sizes begin with it.
    private boolean lastChange;

    /// @param available whether this system has streaming stores; first called when they are about
    ///     to be used, as it may take some milliseconds
    StreamingTrials(StreamingStoresChoice choice, BooleanSupplier available) {
        this.choice = choice;
        this.available = available;
    }

    /// Whether the next operation uses streaming stores.
    boolean usesStreamingStores(long byteSize) {
        return switch (choice) {
            case AUTO -> sizeClass(byteSize).usesStreamingStores();
            case ALWAYS -> available.getAsBoolean();
            case NEVER -> false;
        };
    }

    /// Reports how long an operation took.
    void completed(long byteSize, long nanos) {
        if (choice == StreamingStoresChoice.AUTO) {
            sizeClass(byteSize).completed((double) nanos / byteSize);
        }
    }

    private SizeClass sizeClass(long byteSize) {
        int index = Long.numberOfLeadingZeros(byteSize);
        SizeClass found = sizeClasses[index];
        if (found == null) {
            found = new SizeClass(Long.highestOneBit(byteSize));
            sizeClasses[index] = found;
        }
        return found;
    }

    /// The sizes from a power of two to the next. Costs are nanoseconds for each byte.
    private final class SizeClass {
        private final long minBytes;
        private boolean streaming = lastChange;
        private int interval = FIRST_INTERVAL;

        /// The operations since the last trial.
        private int operations;

        /// The operations that are left of a trial; 0 outside of trials.
        private int leftOfTrial;

        /// The least cost of the way of this size, right before and in the trial.
        private double ownCost;

        /// The least cost of the other way in the trial.
        private double otherCost;

        /// The costs of the last operations outside of trials.
        private final double[] recent = new double[TURN_OPERATIONS];

        /// The least of the recent costs since the last trial.
        private double bestCost = Double.MAX_VALUE;

        SizeClass(long minBytes) {
            this.minBytes = minBytes;
        }

        boolean usesStreamingStores() {
            boolean usesOtherWay = leftOfTrial > TURN_OPERATIONS;
            return streaming != usesOtherWay;
        }

        void completed(double cost) {
            if (leftOfTrial > 0) {
                continueTrial(cost);
                return;
            }
            recent[operations % recent.length] = cost;
            operations++;
            double recentCost = Arrays.stream(recent).min().orElseThrow();
            if (operations >= recent.length) {
                bestCost = Math.min(bestCost, recentCost);
            }
            boolean early =
                    operations >= Math.max(MIN_EARLY_INTERVAL, interval / EARLY_DIVISOR)
                            && recentCost > SLOWER * bestCost;
            if ((early || operations >= interval) && available.getAsBoolean()) {
                leftOfTrial = 2 * TURN_OPERATIONS;
                ownCost = recentCost;
                otherCost = Double.MAX_VALUE;
            }
        }

        private void continueTrial(double cost) {
            if (leftOfTrial % TURN_OPERATIONS != 0) { // not the first of a turn
                if (leftOfTrial > TURN_OPERATIONS) {
                    otherCost = Math.min(otherCost, cost);
                } else {
                    ownCost = Math.min(ownCost, cost);
                }
            }
            leftOfTrial--;
            if (leftOfTrial > 0) {
                return;
            }
            operations = 0;
            double slowdown = Math.max(ownCost, otherCost) / Math.min(ownCost, otherCost);
            double affordable = TURN_OPERATIONS * (slowdown - 1) / TRIAL_SHARE;
            long next = Math.clamp((long) affordable, MIN_INTERVAL, MAX_INTERVAL);
            interval = (int) Math.min(next, 2 * interval);
            bestCost = ownCost;
            if (otherCost * (streaming ? 1 : MIN_GAIN) < ownCost) {
                streaming = !streaming;
                lastChange = streaming;
                LOG.log(Level.DEBUG, this::describeChange);
                bestCost = otherCost;
            }
        }

        private String describeChange() {
            return "Allreduces of %d to %d bytes now use %s stores: %.3f instead of %.3f ns for each byte"
                    .formatted(
                            minBytes,
                            2 * minBytes - 1,
                            streaming ? "streaming" : "ordinary",
                            otherCost,
                            ownCost);
        }
    }
}
