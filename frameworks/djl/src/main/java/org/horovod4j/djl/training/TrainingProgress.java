package org.horovod4j.djl.training;

import ai.djl.training.Trainer;
import ai.djl.training.evaluator.Evaluator;
import ai.djl.training.listener.EvaluatorTrainingListener;
import ai.djl.training.listener.TrainingListenerAdapter;
import ai.djl.training.optimizer.Optimizer;
import ai.djl.training.tracker.Tracker;

import org.horovod4j.Communicator;
import org.horovod4j.ReduceOp;
import org.horovod4j.djl.CommunicatorProvider;
import org.horovod4j.djl.OptimizerState;
import org.horovod4j.djl.training.ProgressFormat.Metric;
import org.jspecify.annotations.Nullable;

import java.io.Console;
import java.io.PrintStream;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.OptionalInt;
import java.util.function.LongSupplier;

/// Tells on rank 0 how training goes: a bar, images per second of the whole job, loss and
/// evaluators, the time that is left; a line for each epoch, with the learning rate if it was told
/// of it, and a summary at the end.
///
/// All ranks add it, since at the end of an epoch they add up what they have trained on; rank 0
/// alone prints. On a terminal the bar is redrawn. Elsewhere, as under `horovodrun`, whose ranks
/// write into pipes, there is a line every few percent instead.
///
/// Within an epoch the figures are those of rank 0, and the throughput is its own times the number
/// of ranks. Lines at the end of an epoch are exact, and the figures in them those of all ranks if
/// there is a [MetricAverage]. It comes after `TrainingListener.Defaults`.
public final class TrainingProgress extends TrainingListenerAdapter {
    private static final long REDRAW_NANOS = Duration.ofMillis(100).toNanos();
    private static final long LINE_NANOS = Duration.ofSeconds(10).toNanos();
    private static final long MIN_LINE_NANOS = Duration.ofSeconds(1).toNanos();
    private static final int LINES_PER_EPOCH = 10;
    private static final String CLEAR_LINE = "\r\u001b[K";

    private final CommunicatorProvider communicators;
    private final PrintStream out;
    private final boolean isTerminal;
    private final LongSupplier nanoTime;
    private final ProgressFormat line;
    private final OptionalInt epochs;
    private final OptionalDouble singleProcessThroughput;
    private final @Nullable LearningRateSource learningRateSource;

    private OptionalInt stepsPerEpoch;
    private boolean hasMetrics;
    private int firstEpoch;
    private int epoch;
    private Throughput throughput = new Throughput();
    private JobTotals totals = new JobTotals(0, 0, 0);

    /// Of this rank in the epoch that ended last: at the end of training there may be no world any more.
    private int rank;

    private int size;
    private long start;
    private double startFraction;
    private long epochStart;
    private long shownAt;
    private double shownFraction;

    private TrainingProgress(Builder builder) {
        this.communicators = builder.communicators;
        this.out = builder.out;
        this.isTerminal = builder.isTerminal;
        this.nanoTime = builder.nanoTime;
        this.epochs = builder.epochs;
        this.singleProcessThroughput = builder.singleProcessThroughput;
        this.learningRateSource = builder.learningRateSource;
        this.stepsPerEpoch = builder.stepsPerEpoch;
        this.line = new ProgressFormat(builder.epochs, builder.unit);
    }

    /// Progress of a training of so many epochs.
    public static Builder ofEpochs(int epochs) {
        return new Builder(OptionalInt.of(epochs));
    }

    /// Progress of a training that lasts until it is ended.
    public static Builder endless() {
        return new Builder(OptionalInt.empty());
    }

    /// Counts on from a training that has resumed.
    ///
    /// @param done epochs that were complete, as `Checkpoints.resume` returns it
    public void resumeAt(int done) {
        firstEpoch = done;
        epoch = done;
    }

    @Override
    public void onTrainingBegin(Trainer trainer) {
        hasMetrics = ListenerOrder.hasEvaluators(trainer);
    }

    @Override
    public void onTrainingBatch(Trainer trainer, BatchData batchData) {
        long now = nanoTime.getAsLong();
        boolean isFirst = totals.samples == 0 && throughput.batches() == 0;
        throughput.batch(now, batchData.getBatch().getSize());
        double part = epochFraction(batchData.getBatch().getProgressTotal());
        if (isFirst) {
            start = now;
            startFraction = part;
            epochStart = now;
            shownAt = now;
        } else if (communicators.current().rank() == 0 && isDue(now, part)) {
            shownAt = now;
            shownFraction = part;
            printProgress(progressText(trainer, now, part));
        }
    }

    /// How much of the epoch is done. Where the number of steps is not known, the data are taken to
    /// be shared out evenly; after an epoch it is known.
    private double epochFraction(long samplesOfAllRanks) {
        double part =
                stepsPerEpoch.isPresent()
                        ? (double) throughput.batches() / stepsPerEpoch.getAsInt()
                        : (double) throughput.samples()
                                * communicators.current().size()
                                / Math.max(1, samplesOfAllRanks);
        return Math.min(1, part);
    }

    private boolean isDue(long now, double part) {
        long passed = now - shownAt;
        return isTerminal
                ? passed >= REDRAW_NANOS
                : passed >= LINE_NANOS
                        || (passed >= MIN_LINE_NANOS
                                && Math.floor(part * LINES_PER_EPOCH)
                                        > Math.floor(shownFraction * LINES_PER_EPOCH));
    }

    private String progressText(Trainer trainer, long now, double part) {
        double seconds = throughput.seconds();
        double perSecond =
                seconds > 0
                        ? throughput.timedSamples() * communicators.current().size() / seconds
                        : 0;
        return line.epochProgress(epoch, part, perSecond, metrics(trainer), remaining(now, part));
    }

    /// The rest takes as long as what has been done since the clock started; of the epoch, if
    /// nobody knows how many there are.
    private Duration remaining(long now, double part) {
        boolean knowsEnd = epochs.isPresent();
        double all = knowsEnd ? epochs.getAsInt() - firstEpoch : 1;
        double done = knowsEnd ? epoch - firstEpoch + part : part;
        double before = knowsEnd || epoch == firstEpoch ? startFraction : 0;
        long took = now - (knowsEnd ? start : epochStart);
        return done > before && all > done
                ? Duration.ofNanos((long) (took * (all - done) / (done - before)))
                : Duration.ZERO;
    }

    private List<Metric> metrics(Trainer trainer) {
        List<Metric> figures = new ArrayList<>();
        if (hasMetrics) {
            for (Evaluator evaluator : lossFirst(trainer)) {
                add(
                        figures,
                        name(trainer, evaluator),
                        evaluator.getAccumulator(EvaluatorTrainingListener.TRAIN_EPOCH));
            }
        }
        return figures;
    }

    @Override
    public void onEpoch(Trainer trainer) {
        double[] sums = {throughput.samples(), throughput.timedSamples()};
        Communicator together = communicators.current();
        together.allreduce("progress", sums, ReduceOp.SUM);
        rank = together.rank();
        size = together.size();
        long now = nanoTime.getAsLong();
        double seconds = throughput.seconds();
        totals =
                new JobTotals(
                        totals.samples + Math.round(sums[0]),
                        totals.timedSamples + Math.round(sums[1]),
                        totals.seconds + seconds);
        if (rank == 0) {
            printLine(
                    line.epochSummary(
                            epoch,
                            seconds > 0 ? sums[1] / seconds : 0,
                            epochMetrics(trainer),
                            learningRate(trainer),
                            Duration.ofNanos(now - epochStart)));
        }
        stepsPerEpoch = OptionalInt.of(throughput.batches());
        throughput = new Throughput(now);
        epoch++;
        epochStart = now;
        shownAt = now;
        shownFraction = 0;
    }

    /// What DJL's listener has made of the epoch, for all ranks if there is a [MetricAverage].
    private List<Metric> epochMetrics(Trainer trainer) {
        List<Metric> figures = new ArrayList<>();
        if (hasMetrics) {
            Map<String, Float> values = trainer.getTrainingResult().getEvaluations();
            for (String stage : List.of("train_", "validate_")) {
                for (Evaluator evaluator : lossFirst(trainer)) {
                    String name = name(trainer, evaluator);
                    add(
                            figures,
                            stage.equals("train_") ? name : "validation " + name,
                            values.get(stage + evaluator.getName()));
                }
            }
        }
        return figures;
    }

    /// That of the last update.
    private OptionalDouble learningRate(Trainer trainer) {
        if (learningRateSource == null) {
            return OptionalDouble.empty();
        }
        int updates =
                OptimizerState.of(learningRateSource.optimizer, trainer.getModel().getBlock())
                        .updates();
        return updates == 0
                ? OptionalDouble.empty()
                : OptionalDouble.of(learningRateSource.rate.getNewValue(updates));
    }

    /// DJL has the loss at the end.
    private static List<Evaluator> lossFirst(Trainer trainer) {
        return trainer.getEvaluators().reversed();
    }

    private static String name(Trainer trainer, Evaluator evaluator) {
        return evaluator.equals(trainer.getLoss()) ? "loss" : evaluator.getName();
    }

    private static void add(List<Metric> figures, String name, @Nullable Float value) {
        if (value != null && !value.isNaN()) {
            figures.add(new Metric(name, value));
        }
    }

    /// Prints the summary. A trainer is closed after failures too, so this asks nothing of other
    /// ranks.
    @Override
    public void onTrainingEnd(Trainer trainer) {
        if (rank == 0 && totals.samples > 0) {
            printLine(
                    line.summary(
                            totals.samples,
                            Duration.ofNanos(epochStart - start),
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

    /// All ranks, all epochs that are complete.
    private record JobTotals(long samples, long timedSamples, double seconds) {
        double perSecond() {
            return seconds > 0 ? timedSamples / seconds : 0;
        }
    }

    /// An optimizer with its learning rate, for which it has no accessor.
    private record LearningRateSource(Optimizer optimizer, Tracker rate) {}

    /// What progress may be told.
    public static final class Builder {
        private final OptionalInt epochs;
        private OptionalInt stepsPerEpoch = OptionalInt.empty();
        private OptionalDouble singleProcessThroughput = OptionalDouble.empty();
        private @Nullable LearningRateSource learningRateSource;
        private String unit = "images";
        private CommunicatorProvider communicators = CommunicatorProvider.FROM_HVD;
        private PrintStream out = System.out;
        private boolean isTerminal = isOutputATerminal();
        private LongSupplier nanoTime = System::nanoTime;

        private Builder(OptionalInt epochs) {
            this.epochs = epochs;
        }

        /// Batches of an epoch on each rank; without it, the first epoch's percentage is an
        /// estimate.
        public Builder stepsPerEpoch(int steps) {
            stepsPerEpoch = OptionalInt.of(steps);
            return this;
        }

        /// What one process does in a second, as measured before; with it, the summary has the
        /// scaling efficiency.
        public Builder singleProcessThroughput(double samples) {
            singleProcessThroughput = OptionalDouble.of(samples);
            return this;
        }

        /// Shows the learning rate too, that of the last update, at the end of each epoch.
        ///
        /// @param optimizer that trains, distributed or not
        /// @param rate the learning rate that the optimizer was built with
        public Builder learningRate(Optimizer optimizer, Tracker rate) {
            learningRateSource = new LearningRateSource(optimizer, rate);
            return this;
        }

        /// What samples are called; `images` by default.
        public Builder unit(String plural) {
            unit = plural;
            return this;
        }

        /// Somewhere else than standard output.
        public Builder output(PrintStream stream, boolean terminal) {
            out = stream;
            isTerminal = terminal;
            return this;
        }

        /// The ranks that train together; all those of `Hvd` by default.
        public Builder communicator(Communicator value) {
            communicators = new CommunicatorProvider(value);
            return this;
        }

        Builder clock(LongSupplier nanos) {
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
