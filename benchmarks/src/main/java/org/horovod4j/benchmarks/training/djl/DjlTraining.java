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
import org.horovod4j.benchmarks.training.TrainingMode;
import org.horovod4j.djl.DistributedOptimizer;
import org.horovod4j.optim.overlap.Overlap;
import org.jspecify.annotations.Nullable;

import java.util.List;
import java.util.Optional;
import java.util.zip.CRC32C;

/// A network in training on images that were made up: nothing is read, so nothing but computation and
/// communication is timed.
final class DjlTraining implements AutoCloseable {
    private static final int SEED = 1;
    private static final float LEARNING_RATE = 0.01f;
    private static final float MOMENTUM = 0.9f;

    private final Communicator comm;
    private final TrainingMode mode;
    private final Model model;
    private final Trainer trainer;
    private final Batch batch;
    private final Batch warmUpBatch;

    /// Absent where every rank trains for itself.
    private final @Nullable DistributedOptimizer distributed;

    private boolean hasGradients;

    /// What a step trains on.
    private record Batch(NDArray images, NDArray labels) {}

    /// @param side of the images, in pixels
    DjlTraining(
            Communicator comm,
            TrainingMode trainingMode,
            NeuralNetwork neuralNetwork,
            int batch,
            int side) {
        this.comm = comm;
        this.mode = trainingMode;
        // One seed, so that all ranks begin with the same weights.
        Engine.getEngine("PyTorch").setRandomSeed(SEED);
        this.model = Model.newInstance(neuralNetwork.toString(), Device.cpu(), "PyTorch");
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
                                .optDevices(new Device[] {Device.cpu()}));
        Shape input = neuralNetwork.input(batch, side);
        trainer.initialize(input);

        // And another seed for each rank's images, so that they have something to average.
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

    /// Makes one step.
    ///
    /// @return the nanoseconds from the end of the backward pass until all gradients were averaged
    long step() {
        return step(batch);
    }

    /// Makes one step on a few small images, which runs the same code of the JVM.
    void warmUpStep() {
        long _ = step(warmUpBatch);
    }

    private long step(Batch batch) {
        // Without any gradient DJL refuses to make a step; later ones may do with zeros.
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

    /// In a manager of its own: what the passes leave behind is freed with it.
    private void computeGradients(Batch batch) {
        try (NDManager pass = trainer.getManager().newSubManager();
                GradientCollector collector = trainer.newGradientCollector()) {
            NDArray images = batch.images().duplicate();
            images.attach(pass);
            NDList predictions = trainer.forward(new NDList(images));
            collector.backward(trainer.getLoss().evaluate(new NDList(batch.labels()), predictions));
        }
    }

    /// What the optimizer hid, where there is one.
    Optional<Overlap> overlap() {
        return Optional.ofNullable(distributed).map(DistributedOptimizer::overlap);
    }

    /// Checks that the steps were made in the right mode.
    ///
    /// @throws IllegalStateException when nothing could overlap, as figures would tell another story
    void checkOverlap() {
        overlap()
                .filter(overlap -> mode == TrainingMode.OVERLAP && !overlap.isUsed())
                .ifPresent(
                        overlap -> {
                            throw new IllegalStateException(
                                    "communication did not overlap with the backward pass: "
                                            + overlap.reason());
                        });
    }

    long gradientBytes() {
        return trainable().stream()
                .mapToLong(parameter -> parameter.getArray().size() * Float.BYTES)
                .sum();
    }

    /// Of all bits of all weights: ranks that trained together must agree on it.
    long checksum() {
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
