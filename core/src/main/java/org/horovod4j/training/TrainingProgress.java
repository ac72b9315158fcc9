package org.horovod4j.training;

import org.horovod4j.Communicator;
import org.horovod4j.ReduceOp;

import java.io.Console;
import java.io.PrintStream;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.OptionalInt;
import java.util.OptionalLong;
import java.util.function.LongSupplier;
import java.util.function.Supplier;

/// Prints the progress of a training on rank 0: a bar with the samples per second of the whole job,
/// metrics and the remaining time; a line for each epoch; and a summary at the end.
///
/// ```java
/// TrainingProgress progress = TrainingProgress.ofEpochs(10).stepsPerEpoch(steps).build();
/// progress.batchDone(batchSize);   // after each batch
/// progress.epochDone();            // after each epoch
/// progress.trainingDone();         // at the end
/// ```
///
/// All ranks call it: at the end of an epoch they add up their samples with an allreduce. On a
/// terminal the bar is redrawn. Elsewhere, as in a job of `horovodrun`, whose ranks write into
/// pipes, a line is printed every few percent.
///
/// Within an epoch the throughput is that of rank 0, times the number of ranks. At the end of an
/// epoch it is exact.
public final class TrainingProgress {
    private static final long REDRAW_NANOS = Duration.ofMillis(100).toNanos();
    private static final long LINE_NANOS = Duration.ofSeconds(10).toNanos();
    private static final long MIN_LINE_NANOS = Duration.ofSeconds(1).toNanos();
    private static final int LINES_PER_EPOCH = 10;
    private static final String CLEAR_LINE = "\r\u001b[K";

    private final CommunicatorProvider communicators;
    private final PrintStream out;
    private final boolean isTerminal;
    private final LongSupplier nanoTime;
    private final ProgressFormat format;
    private final OptionalInt epochs;
    private final OptionalDouble singleProcessThroughput;

    private OptionalInt stepsPerEpoch;
    private int firstEpoch;
    private int epoch;
    private Throughput throughput = new Throughput();
    private JobTotals totals = new JobTotals(0, 0, 0);

    /// Rank and size in the last complete epoch: at the end of training, `Hvd` may be shut down.
    private int rank;

    private int size;
    private long startNanos;
    private double startFraction;
    private long epochStartNanos;
    private long shownNanos;
    private double shownFraction;

    private TrainingProgress(Builder builder) {
        this.communicators = builder.communicators;
        this.out = builder.out;
        this.isTerminal = builder.isTerminal;
        this.nanoTime = builder.nanoTime;
        this.epochs = builder.epochs;
        this.singleProcessThroughput = builder.singleProcessThroughput;
        this.stepsPerEpoch = builder.stepsPerEpoch;
        this.format = new ProgressFormat(builder.epochs, builder.unit);
    }

    /// Progress of a training with this number of epochs.
    public static Builder ofEpochs(int epochs) {
        return new Builder(OptionalInt.of(epochs));
    }

    /// Progress of a training without a fixed number of epochs.
    public static Builder endless() {
        return new Builder(OptionalInt.empty());
    }

    /// Sets the number of complete epochs, for a training that resumes.
    public void resumeAt(int completeEpochs) {
        firstEpoch = completeEpochs;
        epoch = completeEpochs;
    }

    /// Counts a batch of this rank, and prints the bar when it is due.
    public void batchDone(long samples) {
        batchDone(samples, OptionalLong.empty(), List::of);
    }

    /// Counts a batch of this rank, and prints the bar when it is due.
    ///
    /// @param samples of the batch
    /// @param epochSamples of the whole data set, if known; without it and without `stepsPerEpoch`
    ///     the percentage of the first epoch stays 0
    /// @param metrics called only when the bar is printed
    public void batchDone(long samples, OptionalLong epochSamples, Supplier<List<Metric>> metrics) {
        long now = nanoTime.getAsLong();
        boolean isFirst = totals.samples == 0 && throughput.batches() == 0;
        throughput.batchDone(now, samples);
        double fraction = epochFraction(epochSamples);
        if (isFirst) {
            startNanos = now;
            startFraction = fraction;
            epochStartNanos = now;
            shownNanos = now;
        } else if (communicators.current().rank() == 0 && isDue(now, fraction)) {
            shownNanos = now;
            shownFraction = fraction;
            printProgress(progressText(metrics.get(), now, fraction));
        }
    }

    /// The complete part of the epoch. If the number of steps is unknown, the data are assumed to be
    /// divided evenly. After the first epoch it is known.
    private double epochFraction(OptionalLong epochSamples) {
        if (stepsPerEpoch.isPresent()) {
            return Math.min(1, (double) throughput.batches() / stepsPerEpoch.getAsInt());
        }
        if (epochSamples.isEmpty()) {
            return 0;
        }
        double ofAllRanks = (double) throughput.samples() * communicators.current().size();
        return Math.min(1, ofAllRanks / Math.max(1, epochSamples.getAsLong()));
    }

    private boolean isDue(long now, double fraction) {
        long passed = now - shownNanos;
        return isTerminal
                ? passed >= REDRAW_NANOS
                : passed >= LINE_NANOS
                        || (passed >= MIN_LINE_NANOS
                                && Math.floor(fraction * LINES_PER_EPOCH)
                                        > Math.floor(shownFraction * LINES_PER_EPOCH));
    }

    private String progressText(List<Metric> metrics, long now, double fraction) {
        double seconds = throughput.seconds();
        double perSecond =
                seconds > 0
                        ? throughput.timedSamples() * communicators.current().size() / seconds
                        : 0;
        return format.epochProgress(epoch, fraction, perSecond, metrics, remaining(now, fraction));
    }

    /// Assumes that the rest is as fast as the part since the start: the rest of the training, or of
    /// the epoch if the number of epochs is unknown.
    private Duration remaining(long now, double fraction) {
        boolean hasEnd = epochs.isPresent();
        double all = hasEnd ? epochs.getAsInt() - firstEpoch : 1;
        double done = hasEnd ? epoch - firstEpoch + fraction : fraction;
        double before = hasEnd || epoch == firstEpoch ? startFraction : 0;
        long took = now - (hasEnd ? startNanos : epochStartNanos);
        return done > before && all > done
                ? Duration.ofNanos((long) (took * (all - done) / (done - before)))
                : Duration.ZERO;
    }

    /// Ends an epoch and prints its line. All ranks call this.
    public void epochDone() {
        epochDone(List::of, OptionalDouble::empty);
    }

    /// Ends an epoch and prints its line. All ranks call this.
    ///
    /// @param metrics called on rank 0 only
    /// @param learningRate that of the last update; called on rank 0 only
    public void epochDone(Supplier<List<Metric>> metrics, Supplier<OptionalDouble> learningRate) {
        double[] sums = {throughput.samples(), throughput.timedSamples()};
        Communicator communicator = communicators.current();
        communicator.allreduce("progress", sums, ReduceOp.SUM);
        rank = communicator.rank();
        size = communicator.size();
        long now = nanoTime.getAsLong();
        double seconds = throughput.seconds();
        totals =
                new JobTotals(
                        totals.samples + Math.round(sums[0]),
                        totals.timedSamples + Math.round(sums[1]),
                        totals.seconds + seconds);
        if (rank == 0) {
            printLine(
                    format.epochSummary(
                            epoch,
                            seconds > 0 ? sums[1] / seconds : 0,
                            metrics.get(),
                            learningRate.get(),
                            Duration.ofNanos(now - epochStartNanos)));
        }
        stepsPerEpoch = OptionalInt.of(throughput.batches());
        throughput = new Throughput(now);
        epoch++;
        epochStartNanos = now;
        shownNanos = now;
        shownFraction = 0;
    }

    /// Prints the summary. Does not communicate, so it can be called after a failure.
    public void trainingDone() {
        if (rank == 0 && totals.samples > 0) {
            printLine(
                    format.summary(
                            totals.samples,
                            Duration.ofNanos(epochStartNanos - startNanos),
                            totals.perSecond(),
                            size,
                            singleProcessThroughput));
        }
    }

    private void printProgress(String text) {
        if (isTerminal) {
            out.print(CLEAR_LINE + text);
            out.flush();
        } else {
            out.println(text);
        }
    }

    private void printLine(String text) {
        out.println(isTerminal ? CLEAR_LINE + text : text);
        out.flush();
    }

    /// A value to print, such as a loss.
    public record Metric(String name, double value) {}

    /// All ranks, all complete epochs.
    private record JobTotals(long samples, long timedSamples, double seconds) {
        double perSecond() {
            return seconds > 0 ? timedSamples / seconds : 0;
        }
    }

    /// Options of a [TrainingProgress].
    public static final class Builder {
        private final OptionalInt epochs;
        private OptionalInt stepsPerEpoch = OptionalInt.empty();
        private OptionalDouble singleProcessThroughput = OptionalDouble.empty();
        private String unit = "images";
        private CommunicatorProvider communicators = CommunicatorProvider.FROM_HVD;
        private PrintStream out = System.out;
        private boolean isTerminal = isOutputATerminal();
        private LongSupplier nanoTime = System::nanoTime;

        private Builder(OptionalInt epochs) {
            this.epochs = epochs;
        }

        /// The batches of one rank in an epoch. Without it the percentage of the first epoch is an
        /// estimate.
        public Builder stepsPerEpoch(int steps) {
            stepsPerEpoch = OptionalInt.of(steps);
            return this;
        }

        /// The samples per second of one process alone, measured before. With it, the summary shows
        /// the scaling efficiency.
        public Builder singleProcessThroughput(double samples) {
            singleProcessThroughput = OptionalDouble.of(samples);
            return this;
        }

        /// The name of samples in the output; `images` by default.
        public Builder unit(String plural) {
            unit = plural;
            return this;
        }

        /// The stream to print to; standard output by default.
        public Builder output(PrintStream stream, boolean terminal) {
            out = stream;
            isTerminal = terminal;
            return this;
        }

        /// The ranks that train together; all ranks of `Hvd` by default.
        public Builder communicator(Communicator value) {
            communicators = new CommunicatorProvider(value);
            return this;
        }

        /// The clock; `System.nanoTime` by default.
        public Builder clock(LongSupplier nanos) {
            nanoTime = nanos;
            return this;
        }

        public TrainingProgress build() {
            return new TrainingProgress(this);
        }

        private static boolean isOutputATerminal() {
            return Optional.ofNullable(System.console()).map(Console::isTerminal).orElse(false);
        }
    }
}
