package org.horovod4j.spark.ml;

import org.horovod4j.Communicator;
import org.horovod4j.ConfigurationException;
import org.horovod4j.ReduceOp;
import org.horovod4j.spark.HvdSpark;
import org.horovod4j.spark.data.EpochBatches;
import org.horovod4j.spark.data.RankReader;
import org.horovod4j.spark.data.RowBatch;
import org.horovod4j.spark.ml.RankTraining.Part;
import org.horovod4j.spark.ml.RankTraining.StepWeights;
import org.horovod4j.spark.ml.RankTraining.TrainingRows;
import org.horovod4j.training.MetricTotals;
import org.horovod4j.training.TrainingProgress;
import org.jspecify.annotations.Nullable;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.OptionalDouble;

/// A fit on one rank: reads batches, makes steps, validates, and keeps checkpoints, history and the
/// best network. The framework does the arithmetic.
final class RankFit {
    private static final String LOSS = "loss";
    private static final String ROWS = "rows";
    private static final String VALIDATION_PREFIX = "val_";

    private final FitPlan plan;
    private final Communicator communicator;
    private final Path local;
    private final RankReader training;
    private final @Nullable RankReader validation;
    private final @Nullable RunFolder runFolder;
    private final @Nullable EarlyStopping stopping;
    private final int steps;
    private @Nullable NetworkFiles best;
    private TrainingHistory history = TrainingHistory.EMPTY;

    RankFit(
            FitPlan plan,
            Communicator communicator,
            Path local,
            RankReader training,
            @Nullable RankReader validation)
            throws IOException {
        this.plan = plan;
        this.communicator = communicator;
        this.local = local;
        this.training = training;
        this.validation = validation;
        this.runFolder =
                plan.runFolder() == null || communicator.rank() != 0
                        ? null
                        : new RunFolder(plan.runFolder());
        this.stopping =
                plan.patience() == 0 ? null : new EarlyStopping(plan.monitor(), plan.patience());
        this.steps = Math.ceilDiv(rowsOfRank(0), plan.batchSize()); // rank 0 has the most rows
    }

    FitTask.Result run() throws Exception {
        long rows = plan.data().training().rows();
        if (rows < communicator.size()) {
            throw new ConfigurationException(
                    "%d rows are too few for %d ranks: each rank needs one"
                            .formatted(rows, communicator.size()));
        }
        Path checkpoints = Files.createDirectory(local.resolve("checkpoints"));
        if (runFolder != null && plan.resumes()) {
            runFolder.downloadCheckpoints(checkpoints);
        } else if (runFolder != null) {
            runFolder.clear();
        }
        TrainingSetup setup =
                new TrainingSetup(
                        communicator,
                        plan.width(plan.features()),
                        plan.width(plan.labels()),
                        plan.batchSize(),
                        steps,
                        plan.epochs(),
                        plan.seed(),
                        checkpoints);
        try (RankTraining network = plan.framework().start(setup)) {
            int done = network.resume();
            restoreHistory(done);
            train(network, done, checkpoints);
            return new FitTask.Result(communicator.rank() == 0 ? trained(network) : null, history);
        }
    }

    /// The history of complete epochs, of which rank 0 has the file.
    private void restoreHistory(int done) throws IOException {
        String own = runFolder == null ? "" : runFolder.history().first(done).format();
        history = TrainingHistory.parse(communicator.broadcastObject("history", own, 0));
        if (stopping != null) {
            history.epochs().forEach(stopping::add);
            if (runFolder != null && done > 0) {
                best = runFolder.best();
            }
        }
    }

    private void train(RankTraining network, int done, Path checkpoints) throws Exception {
        TrainingProgress progress = progress();
        progress.resumeAt(done);
        for (int epoch = done; epoch < plan.epochs() && !shouldStop(); epoch++) {
            Map<String, Double> metrics = new LinkedHashMap<>();
            trainEpoch(network, epoch, progress, metrics);
            validate(network, metrics);
            history = history.with(metrics);
            if (stopping != null && stopping.add(metrics) && communicator.rank() == 0) {
                keepBest(network);
            }
            saveCheckpoint(network, checkpoints);
            if (plan.isVerbose()) {
                progress.epochDone(() -> shown(metrics), OptionalDouble::empty);
            }
            if (plan.callback() != null) {
                plan.callback().epochDone(communicator, epoch + 1, metrics);
            }
        }
        progress.trainingDone();
    }

    private TrainingProgress progress() {
        return TrainingProgress.ofEpochs(plan.epochs())
                .stepsPerEpoch(steps)
                .unit("rows")
                .communicator(communicator)
                .output(System.out, false)
                .build();
    }

    private static List<TrainingProgress.Metric> shown(Map<String, Double> metrics) {
        return metrics.entrySet().stream()
                .map(each -> new TrainingProgress.Metric(each.getKey(), each.getValue()))
                .toList();
    }

    private boolean shouldStop() {
        return stopping != null && stopping.shouldStop();
    }

    private void trainEpoch(
            RankTraining network, int epoch, TrainingProgress progress, Map<String, Double> metrics)
            throws Exception {
        MetricTotals totals = newTotals();
        try (EpochBatches batches = training.epoch(epoch)) {
            for (int step = 0; step < steps; step++) {
                TrainingRows rows = TrainingRows.EMPTY;
                float[] weights = null;
                if (batches.hasNext()) {
                    RowBatch batch = batches.next();
                    rows = rows(batch);
                    weights = plan.weight() == null ? null : batch.floats(plan.weight());
                }
                double loss = network.train(rows, stepWeights(step, rows.rows(), weights));
                add(totals, loss, rows.rows());
                HvdSpark.countSamples(rows.rows());
                if (plan.isVerbose()) {
                    progress.batchDone(rows.rows());
                }
            }
        }
        addMetrics("", totals, network.metrics(Part.TRAINING), metrics);
    }

    private void validate(RankTraining network, Map<String, Double> metrics) throws Exception {
        if (validation == null) {
            return;
        }
        MetricTotals totals = newTotals();
        try (EpochBatches batches = validation.epoch(0)) {
            while (batches.hasNext()) {
                TrainingRows rows = rows(batches.next());
                add(totals, network.validate(rows), rows.rows());
            }
        }
        addMetrics(VALIDATION_PREFIX, totals, network.metrics(Part.VALIDATION), metrics);
    }

    private static MetricTotals newTotals() {
        MetricTotals totals = new MetricTotals();
        add(totals, 0, 0);
        return totals;
    }

    private static void add(MetricTotals totals, double loss, int rows) {
        totals.add(LOSS, loss * rows);
        totals.add(ROWS, rows);
    }

    private void addMetrics(
            String prefix,
            MetricTotals totals,
            Map<String, Double> ofFramework,
            Map<String, Double> target) {
        totals.sumOverRanks(communicator);
        target.put(prefix + LOSS, totals.ratio(LOSS, ROWS));
        ofFramework.forEach((name, value) -> target.put(prefix + name, value));
    }

    private TrainingRows rows(RowBatch batch) {
        return new TrainingRows(
                batch.rows(),
                concatenated(batch, plan.features()),
                concatenated(batch, plan.labels()));
    }

    /// The columns of each row side by side.
    private static float[] concatenated(RowBatch batch, List<String> columns) {
        if (columns.size() == 1) {
            return batch.floats(columns.getFirst());
        }
        List<float[]> parts = columns.stream().map(batch::floats).toList();
        int total = parts.stream().mapToInt(part -> part.length).sum();
        float[] all = new float[total];
        int at = 0;
        for (int row = 0; row < batch.rows(); row++) {
            for (float[] part : parts) {
                int width = part.length / batch.rows();
                System.arraycopy(part, row * width, all, at, width);
                at += width;
            }
        }
        return all;
    }

    /// The ranks add up their weights, or know without it how many rows the others have.
    private StepWeights stepWeights(int step, int rows, float @Nullable [] weights) {
        double ofAllRanks;
        if (plan.weight() == null) {
            ofAllRanks = rowsOfStep(step);
        } else {
            double[] sum = {0};
            for (float weight : weights == null ? new float[0] : weights) {
                if (!(weight >= 0)) {
                    throw new ConfigurationException(
                            "column '%s' has the weight %s: use 0 or a larger number"
                                    .formatted(plan.weight(), weight));
                }
                sum[0] += weight;
            }
            communicator.allreduce("weights", sum, ReduceOp.SUM);
            ofAllRanks = sum[0];
        }
        double scale = ofAllRanks == 0 ? 0 : (double) rows * communicator.size() / ofAllRanks;
        return new StepWeights(scale, weights);
    }

    private long rowsOfStep(int step) {
        long sum = 0;
        for (int rank = 0; rank < communicator.size(); rank++) {
            long left = rowsOfRank(rank) - (long) step * plan.batchSize();
            sum += Math.clamp(left, 0, plan.batchSize());
        }
        return sum;
    }

    private int rowsOfRank(int rank) {
        return Math.toIntExact(
                Math.ceilDiv(plan.data().training().rows() - rank, communicator.size()));
    }

    private void keepBest(RankTraining network) throws Exception {
        NetworkFiles files = saved(network);
        best = files;
        if (runFolder != null) {
            runFolder.writeBest(files);
        }
    }

    private NetworkFiles saved(RankTraining network) throws Exception {
        Path folder = local.resolve("network");
        LocalFolder.delete(folder);
        Files.createDirectory(folder);
        network.saveNetwork(folder);
        return NetworkFiles.read(folder);
    }

    /// The history comes first: a checkpoint without its history would lose the best epoch. All ranks
    /// wait until rank 0 has stored both, so that no later failure can lose this epoch.
    private void saveCheckpoint(RankTraining network, Path checkpoints) throws Exception {
        if (plan.runFolder() == null) {
            return;
        }
        network.saveCheckpoint();
        if (runFolder != null) {
            runFolder.writeHistory(history);
            runFolder.uploadCheckpoints(checkpoints);
        }
        communicator.barrier();
    }

    /// The network of the best epoch, with early stopping; otherwise that of the last one.
    private NetworkFiles trained(RankTraining network) throws Exception {
        NetworkFiles kept = best;
        return kept == null || kept.byName().isEmpty() ? saved(network) : kept;
    }
}
