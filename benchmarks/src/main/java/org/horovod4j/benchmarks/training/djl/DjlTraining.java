package org.horovod4j.benchmarks.training.djl;

import ai.djl.Device;
import ai.djl.Model;
import ai.djl.engine.Engine;
import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDList;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import ai.djl.nn.Parameter;
import ai.djl.training.DefaultTrainingConfig;
import ai.djl.training.GradientCollector;
import ai.djl.training.Trainer;
import ai.djl.training.loss.Loss;
import ai.djl.training.optimizer.Optimizer;
import ai.djl.training.tracker.Tracker;

import org.horovod4j.Communicator;
import org.horovod4j.benchmarks.training.NetworkTraining;
import org.horovod4j.benchmarks.training.TrainingMode;
import org.horovod4j.djl.DistributedOptimizer;
import org.horovod4j.optim.overlap.Overlap;
import org.jspecify.annotations.Nullable;

import java.util.List;
import java.util.Optional;
import java.util.zip.CRC32C;

/// The training of a network on random images. It reads no data, so only computation and
/// communication are timed.
final class DjlTraining implements NetworkTraining {
    private static final int SEED = 1;
    private static final float LEARNING_RATE = 0.01f;
    private static final float MOMENTUM = 0.9f;

    private final Communicator comm;
    private final TrainingMode mode;
    private final Model model;
    private final Trainer trainer;
    private final Batch batch;
    private final Batch warmUpBatch;

    /// Null if each rank trains independently.
    private final @Nullable DistributedOptimizer distributed;

    private boolean hasGradients;

    /// The input of a step.
    private record Batch(NDArray images, NDArray labels) {}

    /// @param side the width and height of the images, in pixels
    DjlTraining(
            Communicator comm,
            TrainingMode trainingMode,
            NeuralNetwork neuralNetwork,
            Device device,
            int batch,
            int side) {
        this.comm = comm;
        this.mode = trainingMode;
        // The same seed on all ranks, so that all start with the same weights.
        Engine.getEngine("PyTorch").setRandomSeed(SEED);
        this.model = Model.newInstance(neuralNetwork.toString(), device, "PyTorch");
        model.setBlock(neuralNetwork.block(side));
        Optimizer plain =
                Optimizer.sgd()
                        .setLearningRateTracker(Tracker.fixed(LEARNING_RATE))
                        .optMomentum(MOMENTUM)
                        .build();
        this.distributed =
                trainingMode.communicates()
                        ? distributed(
                                DistributedOptimizer.wrap(plain, model.getBlock())
                                        .communicator(comm))
                        : null;
        this.trainer =
                model.newTrainer(
                        new DefaultTrainingConfig(Loss.softmaxCrossEntropyLoss())
                                .optOptimizer(distributed == null ? plain : distributed)
                                .optDevices(new Device[] {device}));
        Shape input = neuralNetwork.input(batch, side);
        trainer.initialize(input);

        // A different seed for each rank's images, so that the gradients differ.
        Engine.getEngine("PyTorch").setRandomSeed(SEED + 1 + comm.rank());
        this.batch = batch(neuralNetwork, input);
        this.warmUpBatch = batch(neuralNetwork, neuralNetwork.warmUpInput(batch, side));
    }

    private Batch batch(NeuralNetwork neuralNetwork, Shape input) {
        NDManager manager = trainer.getManager();
        return new Batch(
                manager.randomUniform(0, 1, input),
                manager.randomInteger(
                                0, neuralNetwork.classes(), new Shape(input.get(0)), DataType.INT64)
                        .toType(DataType.FLOAT32, false));
    }

    private DistributedOptimizer distributed(DistributedOptimizer.Builder builder) {
        return (mode == TrainingMode.DEFAULT
                        ? builder
                        : builder.overlap(mode == TrainingMode.OVERLAP))
                .build();
    }

    @Override
    public long step() {
        return step(batch);
    }

    @Override
    public void warmUpStep() {
        long _ = step(warmUpBatch);
    }

    private long step(Batch batch) {
        // DJL rejects a step if there has never been a gradient. Later steps can use zeros.
        if (mode != TrainingMode.ALLREDUCE || !hasGradients) {
            computeGradients(batch);
            hasGradients = true;
        }
        long start = System.nanoTime();
        if (distributed == null) {
            if (mode == TrainingMode.BARRIER) {
                comm.barrier();
            }
            long waited = System.nanoTime() - start;
            trainer.step();
            return waited;
        }
        distributed.synchronize();
        long waited = System.nanoTime() - start;
        try (DistributedOptimizer.SkipScope _ = distributed.skipSynchronize()) {
            trainer.step();
        }
        return waited;
    }

    /// Uses its own manager, which frees the arrays of both passes.
    private void computeGradients(Batch batch) {
        try (NDManager pass = trainer.getManager().newSubManager();
                GradientCollector collector = trainer.newGradientCollector()) {
            NDArray images = batch.images().duplicate();
            images.attach(pass);
            NDList predictions = trainer.forward(new NDList(images));
            collector.backward(trainer.getLoss().evaluate(new NDList(batch.labels()), predictions));
        }
    }

    /// Waits until a GPU has computed all steps.
    void await() {
        float _ = trainable().getFirst().getArray().flatten().getFloat(0);
    }

    /// The overlap of the optimizer, if there is an optimizer.
    Optional<Overlap> overlap() {
        return Optional.ofNullable(distributed).map(DistributedOptimizer::overlap);
    }

    @Override
    public void checkMode() {
        overlap()
                .filter(overlap -> mode == TrainingMode.OVERLAP && !overlap.isUsed())
                .ifPresent(
                        overlap -> {
                            throw new IllegalStateException(
                                    "communication did not overlap with the backward pass: "
                                            + overlap.reason());
                        });
    }

    @Override
    public long gradientBytes() {
        return trainable().stream()
                .mapToLong(parameter -> parameter.getArray().size() * Float.BYTES)
                .sum();
    }

    @Override
    public long checksum() {
        CRC32C checksum = new CRC32C();
        trainable().forEach(parameter -> checksum.update(parameter.getArray().toByteBuffer(true)));
        return checksum.getValue();
    }

    private List<Parameter> trainable() {
        return model.getBlock().getParameters().values().stream()
                .filter(Parameter::requiresGradient)
                .toList();
    }

    @Override
    public void close() {
        trainer.close();
        model.close();
    }
}
