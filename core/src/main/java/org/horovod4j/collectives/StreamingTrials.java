package org.horovod4j.collectives;

import org.horovod4j.log.Log;
import org.horovod4j.option.StreamingStoresChoice;
import org.horovod4j.spi.FusedTensors;
import org.jspecify.annotations.Nullable;

import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.util.Arrays;
import java.util.function.BooleanSupplier;

/// Chooses between ordinary and streaming stores for each large allreduce within a host. Member 0
/// chooses for all.
///
/// Which stores are faster depends on which caches the cores share, and on a virtual machine that
/// changes while a job runs. So both are timed, for each power of two of sizes. Operations of many
/// small tensors are timed separately, because streaming stores need one more copy of them.
///
/// A trial is two turns of a few operations: one with the other method, and one with the current
/// method. The other method becomes the current one if its turn was faster than the operations before
/// and after it.
///
/// The interval between trials is chosen so that they cost about 1 % of the time: the slower the
/// other method was, the longer the interval, up to 1,024 operations. A trial comes earlier if
/// operations become 1.5 times as slow. Results do not depend on the method.
final class StreamingTrials {
    private static final Logger LOG = Log.of(StreamingTrials.class);

    /// The operations before the first trial of a size. The interval at most doubles with each trial,
    /// because the first trials run code that is not compiled yet.
    private static final int FIRST_INTERVAL = 8;

    private static final int MIN_INTERVAL = 64;
    private static final int MAX_INTERVAL = 1024;

    /// An early trial waits for this number of operations, and for a quarter of the interval: operations
    /// of one size may cost differently, so they can seem slower again and again.
    private static final int MIN_EARLY_INTERVAL = 32;

    private static final int EARLY_DIVISOR = 4;

    /// The operations of a turn. The first one is not counted, because the caches are in the state that
    /// the other method has left.
    private static final int TURN_OPERATIONS = 3;

    /// The part of the time that trials may cost.
    private static final double TRIAL_SHARE = 0.01;

    /// How much faster streaming stores must be to be used. They take bandwidth of the memory from the
    /// program, and small differences should not cause frequent changes.
    private static final double MIN_GAIN = 1.1;

    /// How much slower operations must become for an early trial.
    private static final double SLOWER = 1.5;

    /// Tensors are small if they have fewer bytes on average.
    private static final long SMALL_TENSOR_BYTES = 8 * 1024;

    private final StreamingStoresChoice choice;
    private final BooleanSupplier available;
    private final @Nullable SizeClass[] sizeClasses = new SizeClass[2 * Long.SIZE];

    /// Whether new sizes begin with streaming stores: those that a size has changed to last.
    private boolean newSizesStream;

    /// @param available whether this system has streaming stores; first called when they are about
    ///     to be used, as it may take some milliseconds
    StreamingTrials(StreamingStoresChoice choice, BooleanSupplier available) {
        this.choice = choice;
        this.available = available;
    }

    /// Whether the next operation uses streaming stores.
    boolean usesStreamingStores(FusedTensors fusedTensors) {
        return switch (choice) {
            case AUTO -> sizeClass(fusedTensors).usesStreamingStores();
            case ALWAYS -> available.getAsBoolean();
            case NEVER -> false;
        };
    }

    /// Reports how long an operation took.
    void completed(FusedTensors fusedTensors, long nanos) {
        if (choice == StreamingStoresChoice.AUTO) {
            sizeClass(fusedTensors).completed((double) nanos / fusedTensors.byteSize());
        }
    }

    private SizeClass sizeClass(FusedTensors fusedTensors) {
        long byteSize = fusedTensors.byteSize();
        boolean manySmall = byteSize / fusedTensors.tensorCount() < SMALL_TENSOR_BYTES;
        int index = 2 * Long.numberOfLeadingZeros(byteSize) + (manySmall ? 1 : 0);
        SizeClass found = sizeClasses[index];
        if (found == null) {
            found = new SizeClass(Long.highestOneBit(byteSize));
            sizeClasses[index] = found;
        }
        return found;
    }

    /// Operations of sizes from a power of two to the next. Costs are nanoseconds for each byte.
    private final class SizeClass {
        private final long minBytes;
        private boolean streaming = newSizesStream;
        private int interval = FIRST_INTERVAL;

        /// The operations since the last trial.
        private int operations;

        /// The operations that are left of a trial; 0 outside of trials.
        private int trialOperationsLeft;

        /// The least cost of the current method, right before the trial and in it.
        private double ownCost;

        /// The least cost of the other method in the trial.
        private double otherCost;

        /// The costs of the last operations outside of trials.
        private final double[] recent = new double[TURN_OPERATIONS];

        /// The least cost of the current method since the last trial, and in it.
        private double bestCost = Double.MAX_VALUE;

        SizeClass(long minBytes) {
            this.minBytes = minBytes;
        }

        boolean usesStreamingStores() {
            boolean usesOtherMethod = trialOperationsLeft > TURN_OPERATIONS;
            return streaming != usesOtherMethod;
        }

        void completed(double cost) {
            if (trialOperationsLeft > 0) {
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
            if (!early && operations < interval) {
                return;
            }
            operations = 0;
            if (available.getAsBoolean()) {
                trialOperationsLeft = 2 * TURN_OPERATIONS;
                ownCost = recentCost;
                otherCost = Double.MAX_VALUE;
            }
        }

        private void continueTrial(double cost) {
            if (trialOperationsLeft % TURN_OPERATIONS != 0) { // not the first of a turn
                if (trialOperationsLeft > TURN_OPERATIONS) {
                    otherCost = Math.min(otherCost, cost);
                } else {
                    ownCost = Math.min(ownCost, cost);
                }
            }
            trialOperationsLeft--;
            if (trialOperationsLeft > 0) {
                return;
            }
            double slowdown = Math.max(ownCost, otherCost) / Math.min(ownCost, otherCost);
            double affordable = TURN_OPERATIONS * (slowdown - 1) / TRIAL_SHARE;
            long next = Math.clamp((long) affordable, MIN_INTERVAL, MAX_INTERVAL);
            interval = (int) Math.min(next, 2L * interval);
            bestCost = ownCost;
            if (otherCost * (streaming ? 1 : MIN_GAIN) < ownCost) {
                streaming = !streaming;
                newSizesStream = streaming;
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
