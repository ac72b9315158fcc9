package org.horovod4j.collectives;

import org.horovod4j.collectives.algorithm.StreamedAllreduce;
import org.horovod4j.log.Log;
import org.horovod4j.option.StreamingStoresChoice;
import org.jspecify.annotations.Nullable;

import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.util.Arrays;
import java.util.function.BooleanSupplier;

/// Decides for each large allreduce within a host whether it is a [StreamedAllreduce]. Member 0 decides for all.
///
/// Which way is faster depends on which caches the cores share, and on a virtual machine that changes while a
/// job runs. So both ways are timed. For each power of two of sizes, now and then a few operations in a row try
/// the other way: first after 8 operations, and after twice as many each time that the other way was
/// slower, up to 1,024. A size that is new begins with the way that was found for another one last. If operations take half as long again as after the last trial, another
/// trial starts at once. Results do not depend on the choice.
final class StreamingTrials {
    private static final Logger LOG = Log.of(StreamingTrials.class);

    private static final int MIN_INTERVAL = 8;
    private static final int MAX_INTERVAL = 1024;

    /// The operations of a trial. The first one is not counted, because the caches are in the state that the other
    /// way has left.
    private static final int TRIAL_OPERATIONS = 3;

    /// How much faster the other way must be, so that small differences do not change it all the time.
    private static final double MIN_GAIN = 1.05;

    /// How much slower operations must become, so that a trial starts before its time.
    private static final double SLOWER = 1.5;

    private final StreamingStoresChoice choice;
    private final BooleanSupplier available;
    private final @Nullable SizeClass[] sizeClasses = new SizeClass[Long.SIZE];

    /// What a trial has found last, for any size.
    private boolean lastFound;

    /// @param available whether this system has streaming stores; not called before they are tried
    StreamingTrials(StreamingStoresChoice choice, BooleanSupplier available) {
        this.choice = choice;
        this.available = available;
    }

    /// Whether the next operation uses streaming stores.
    boolean streams(long byteSize) {
        return switch (choice) {
            case AUTO -> sizeClass(byteSize).streams() && available.getAsBoolean();
            case ALWAYS -> true;
            case NEVER -> false;
        };
    }

    /// Reports how long an operation took.
    void completed(long byteSize, long nanos) {
        sizeClass(byteSize).completed((double) nanos / byteSize);
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

    /// The sizes between two powers of two.
    private final class SizeClass {
        private final long minBytes;
        private boolean streaming = lastFound;
        private int interval = MIN_INTERVAL;
        private int operationsToTrial = MIN_INTERVAL;
        private int operationsOfTrial;

        /// The least cost in the trial.
        private double trialCost;

        /// The costs of the last operations outside trials, the oldest one next to be replaced.
        private final double[] recent = new double[TRIAL_OPERATIONS];

        private int recentCount;

        /// The cost when the last trial ended.
        private double settledCost;

        SizeClass(long minBytes) {
            this.minBytes = minBytes;
        }

        boolean streams() {
            return streaming != operationsOfTrial > 0;
        }

        /// @param cost nanoseconds for each byte
        void completed(double cost) {
            if (operationsOfTrial > 0) {
                if (operationsOfTrial < TRIAL_OPERATIONS) {
                    trialCost = Math.min(trialCost, cost);
                }
                operationsOfTrial--;
                if (operationsOfTrial == 0) {
                    endTrial();
                }
                return;
            }
            recent[recentCount % recent.length] = cost;
            recentCount++;
            operationsToTrial--;
            boolean slower = recentCount >= recent.length && recentCost() > SLOWER * settledCost;
            if (operationsToTrial <= 0 || (slower && settledCost > 0)) {
                operationsOfTrial = TRIAL_OPERATIONS;
                trialCost = Double.MAX_VALUE;
            }
        }

        private void endTrial() {
            settledCost = recentCost();
            if (trialCost * MIN_GAIN < settledCost) {
                streaming = !streaming;
                lastFound = streaming;
                LOG.log(Level.DEBUG, this::describeChange);
                settledCost = trialCost;
                interval = MIN_INTERVAL;
            } else {
                interval = Math.min(2 * interval, MAX_INTERVAL);
            }
            operationsToTrial = interval;
            recentCount = 0;
        }

        private String describeChange() {
            return "Allreduces of %d to %d bytes now use %s stores: %.3f instead of %.3f ns for each byte"
                    .formatted(
                            minBytes,
                            2 * minBytes - 1,
                            streaming ? "streaming" : "ordinary",
                            trialCost,
                            settledCost);
        }

        private double recentCost() {
            return Arrays.stream(recent).min().orElseThrow();
        }
    }
}
