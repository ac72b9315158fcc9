package org.horovod4j.spark.djl;

import ai.djl.Device;
import ai.djl.Model;
import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDList;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.Shape;
import ai.djl.training.DefaultTrainingConfig;
import ai.djl.training.GradientCollector;
import ai.djl.training.Trainer;
import ai.djl.training.evaluator.Evaluator;
import ai.djl.training.listener.EvaluatorTrainingListener;
import ai.djl.training.loss.Loss;
import ai.djl.training.loss.SoftmaxCrossEntropyLoss;

import org.horovod4j.ConfigurationException;
import org.horovod4j.djl.DistributedOptimizer;
import org.horovod4j.djl.training.Checkpoints;
import org.horovod4j.djl.training.MetricAverage;
import org.horovod4j.spark.ml.RankTraining;
import org.horovod4j.spark.ml.TrainingSetup;

import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/// The training of a network of DJL on one rank.
final class DjlRankTraining implements RankTraining {
    private static final int CHECKPOINTS = 2;

    private final DjlNetwork network;
    private final int labelWidth;
    private final Model model;
    private final Trainer trainer;
    private final Checkpoints checkpoints;
    private final MetricAverage metricAverage;
    private final List<Evaluator> evaluators;

    /// @param model is closed with this; the caller closes it if this constructor fails
    DjlRankTraining(
            DjlNetwork network, DjlNetwork.Training training, TrainingSetup setup, Model model) {
        this.network = network;
        this.labelWidth = setup.labelWidth();
        this.evaluators = new ArrayList<>(training.evaluators().create());
        this.model = model;
        // Ranks start with the parameters of rank 0, and drop out different values.
        long seed = setup.seed() + setup.communicator().rank();
        model.getNDManager().getEngine().setRandomSeed((int) (seed & Integer.MAX_VALUE));
        DistributedOptimizer optimizer =
                DistributedOptimizer.wrap(training.optimizer().create(setup), model.getBlock())
                        .communicator(setup.communicator())
                        .build();
        this.trainer =
                model.newTrainer(
                        new DefaultTrainingConfig(training.loss().create())
                                .addEvaluators(evaluators)
                                .optOptimizer(optimizer)
                                .optDevices(new Device[] {model.getNDManager().getDevice()}));
        trainer.initialize(network.inputShape(setup.batchSize(), setup.featureWidth()));
        this.checkpoints =
                Checkpoints.in(setup.checkpoints())
                        .optimizer(optimizer)
                        .keep(CHECKPOINTS)
                        .communicator(setup.communicator())
                        .build();
        this.metricAverage = new MetricAverage(setup.communicator());
        for (Part part : Part.values()) {
            evaluators.forEach(evaluator -> evaluator.addAccumulator(accumulator(part)));
        }
    }

    private static String accumulator(Part part) {
        return switch (part) {
            case TRAINING -> EvaluatorTrainingListener.TRAIN_EPOCH;
            case VALIDATION -> EvaluatorTrainingListener.VALIDATE_EPOCH;
        };
    }

    @Override
    public int resume() {
        return checkpoints.resume(trainer);
    }

    @Override
    public double train(TrainingRows rows, StepWeights weights) {
        double loss = 0;
        if (rows.rows() > 0) {
            try (NDManager manager = trainer.getManager().newSubManager()) {
                NDList labels = labels(manager, rows);
                NDList outputs;
                NDArray mean;
                try (GradientCollector collector = trainer.newGradientCollector()) {
                    outputs = trainer.forward(input(manager, rows));
                    checkLabels(rows, outputs);
                    mean = trainer.getLoss().evaluate(labels, outputs);
                    if (weights.ofRows() == null) {
                        collector.backward(weights.scale() == 1 ? mean : mean.mul(weights.scale()));
                    } else {
                        weightedBackward(collector, manager, labels, outputs, weights);
                    }
                }
                loss = mean.getFloat();
                update(Part.TRAINING, labels, outputs);
            }
        }
        trainer.step(); // without a backward pass, this rank adds zeros
        return loss;
    }

    /// Losses of DJL are means over the rows, without weights. The gradient with respect to the output
    /// has one part for each row, which depends on that row alone: it is multiplied by the weight.
    private void weightedBackward(
            GradientCollector collector,
            NDManager manager,
            NDList labels,
            NDList outputs,
            StepWeights weights) {
        NDArray output = outputs.singletonOrThrow();
        NDArray leaf = output.stopGradient();
        leaf.attach(manager);
        leaf.setRequiresGradient(true);
        collector.backward(trainer.getLoss().evaluate(labels, new NDList(leaf)));
        float[] ofRows = weights.ofRows();
        if (ofRows == null) {
            throw new IllegalArgumentException("there are no weights");
        }
        long[] shape = new long[output.getShape().dimension()];
        Arrays.fill(shape, 1);
        shape[0] = ofRows.length;
        NDArray factors =
                manager.create(ofRows, new Shape(shape))
                        .toDevice(output.getDevice(), false)
                        .mul(weights.scale());
        NDArray gradient = leaf.getGradient().mul(factors).stopGradient();
        collector.backward(output.mul(gradient).sum());
    }

    @Override
    public double validate(TrainingRows rows) {
        try (NDManager manager = trainer.getManager().newSubManager()) {
            NDList labels = labels(manager, rows);
            NDList outputs = trainer.evaluate(input(manager, rows));
            checkLabels(rows, outputs);
            update(Part.VALIDATION, labels, outputs);
            return trainer.getLoss().evaluate(labels, outputs).getFloat();
        }
    }

    private NDList input(NDManager manager, TrainingRows rows) {
        return new NDList(network.input(manager, rows.features(), rows.rows()));
    }

    private NDList labels(NDManager manager, TrainingRows rows) {
        return new NDList(
                manager.create(
                        rows.labels(),
                        labelWidth == 1
                                ? new Shape(rows.rows())
                                : new Shape(rows.rows(), labelWidth)));
    }

    /// DJL would read memory beyond the outputs, or fail with a message of the engine.
    private void checkLabels(TrainingRows rows, NDList outputs) {
        Loss loss = trainer.getLoss();
        Shape shape = outputs.head().getShape();
        if (loss.getClass() != SoftmaxCrossEntropyLoss.class
                || labelWidth != 1
                || shape.dimension() != 2
                || shape.get(1) == 1) {
            return;
        }
        for (float label : rows.labels()) {
            if (!(label >= 0 && label < shape.get(1)) || label != (int) label) {
                throw new ConfigurationException(
                        "label %s is not one of the %d classes of the network: use numbers from 0 to %d, for example by a StringIndexer"
                                .formatted(label, shape.get(1), shape.get(1) - 1));
            }
        }
    }

    private void update(Part part, NDList labels, NDList outputs) {
        evaluators.forEach(
                evaluator -> evaluator.updateAccumulator(accumulator(part), labels, outputs));
    }

    @Override
    public Map<String, Double> metrics(Part part) {
        if (evaluators.isEmpty()) {
            return Map.of();
        }
        metricAverage.onEpoch(trainer);
        Map<String, Double> metrics = new LinkedHashMap<>();
        for (Evaluator evaluator : evaluators) {
            metrics.put(evaluator.getName(), (double) evaluator.getAccumulator(accumulator(part)));
            evaluator.resetAccumulator(accumulator(part));
        }
        return metrics;
    }

    @Override
    public void saveCheckpoint() {
        checkpoints.onEpoch(trainer);
    }

    @Override
    public void saveNetwork(Path folder) throws IOException {
        model.save(folder, DjlNetwork.NAME);
    }

    @Override
    public void close() {
        trainer.close();
        model.close();
    }
}
