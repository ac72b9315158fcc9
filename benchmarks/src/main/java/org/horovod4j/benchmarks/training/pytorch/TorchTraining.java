package org.horovod4j.benchmarks.training.pytorch;

import org.bytedeco.javacpp.LongPointer;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.Conv2dImpl;
import org.bytedeco.pytorch.Conv2dOptions;
import org.bytedeco.pytorch.LinearImpl;
import org.bytedeco.pytorch.Module;
import org.bytedeco.pytorch.SGD;
import org.bytedeco.pytorch.SGDOptions;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch;
import org.horovod4j.Communicator;
import org.horovod4j.benchmarks.training.NetworkTraining;
import org.horovod4j.benchmarks.training.TrainingMode;
import org.horovod4j.pytorch.DistributedOptimizer;
import org.horovod4j.pytorch.TensorMemory;
import org.horovod4j.pytorch.TorchParameters;
import org.jspecify.annotations.Nullable;

import java.util.Map;
import java.util.Random;
import java.util.zip.CRC32C;

/// Two convolutions and two dense layers for ten classes, with 1.2 million parameters: the MNIST
/// network of the benchmarks with DJL.
final class TorchTraining implements NetworkTraining {
    private static final int CLASSES = 10;
    private static final int WARM_UP_IMAGES = 2;
    private static final double LEARNING_RATE = 0.01;
    private static final double MOMENTUM = 0.9;
    private static final long SEED = 1;

    private final Communicator comm;
    private final TrainingMode mode;
    private final Network network;
    private final Map<String, Tensor> parameters;
    private final SGD plain;
    private final Batch batch;
    private final Batch warmUpBatch;

    /// Null if each rank trains independently.
    private final @Nullable DistributedOptimizer distributed;

    private boolean hasGradients;

    /// The input of a step.
    private record Batch(Tensor images, Tensor labels) {}

    /// @param side the width and height of the images, in pixels
    TorchTraining(Communicator comm, TrainingMode mode, int batch, int side) {
        this.comm = comm;
        this.mode = mode;
        this.network = new Network(side);
        this.parameters = TorchParameters.named(network);
        // In all modes, so that all start with the same weights.
        TorchParameters.broadcast(comm, parameters, 0);
        SGDOptions options = new SGDOptions(LEARNING_RATE);
        options.momentum().put(MOMENTUM);
        this.plain = new SGD(network.parameters(), options);
        this.distributed = mode.communicates() ? distributed() : null;
        this.batch = randomBatch(batch, side);
        this.warmUpBatch = randomBatch(Math.min(batch, WARM_UP_IMAGES), side);
    }

    private DistributedOptimizer distributed() {
        DistributedOptimizer.Builder builder =
                DistributedOptimizer.wrap(plain, network).communicator(comm);
        return (mode == TrainingMode.DEFAULT
                        ? builder
                        : builder.overlap(mode == TrainingMode.OVERLAP))
                .build();
    }

    /// Other images on each rank, so that the gradients differ.
    private Batch randomBatch(int count, int side) {
        Random random = new Random(SEED + comm.rank());
        float[] pixels = new float[count * side * side];
        for (int i = 0; i < pixels.length; i++) {
            pixels[i] = random.nextFloat();
        }
        return new Batch(
                Tensor.create(pixels, count, 1, side, side),
                Tensor.create(random.longs(count, 0, CLASSES).toArray()));
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
        try (PointerScope _ = new PointerScope()) { // frees the tensors of this step
            // Without any gradient there would be nothing to average.
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
                plain.step();
                return waited;
            }
            distributed.synchronize();
            long waited = System.nanoTime() - start;
            try (DistributedOptimizer.SkipScope _ = distributed.skipSynchronize()) {
                boolean _ = distributed.step();
            }
            return waited;
        }
    }

    private void computeGradients(Batch batch) {
        if (distributed == null) {
            plain.zero_grad();
        } else {
            distributed.zeroGrad();
        }
        torch.cross_entropy(network.forward(batch.images), batch.labels).backward();
    }

    @Override
    public void checkMode() {
        if (mode == TrainingMode.OVERLAP
                && distributed != null
                && !distributed.overlap().isUsed()) {
            throw new IllegalStateException(
                    "communication did not overlap with the backward pass: "
                            + distributed.overlap().reason());
        }
    }

    @Override
    public long gradientBytes() {
        return parameters.values().stream().mapToLong(each -> each.numel() * Float.BYTES).sum();
    }

    @Override
    public long checksum() {
        CRC32C checksum = new CRC32C();
        parameters
                .values()
                .forEach(each -> checksum.update(TensorMemory.view(each).segment().asByteBuffer()));
        return checksum.getValue();
    }

    @Override
    public void close() {
        plain.close();
        network.close();
        for (Batch each : new Batch[] {batch, warmUpBatch}) {
            each.images.close();
            each.labels.close();
        }
    }

    private static final class Network extends Module {
        private final Conv2dImpl first =
                register_module("conv1", new Conv2dImpl(convolution(1, 32)));
        private final Conv2dImpl second =
                register_module("conv2", new Conv2dImpl(convolution(32, 64)));
        private final LinearImpl third;
        private final LinearImpl fourth = register_module("fc2", new LinearImpl(128, CLASSES));

        Network(int side) {
            super("mnist");
            int pooled = (side - 4) / 2; // each convolution takes a pixel from each border
            third = register_module("fc1", new LinearImpl(64L * pooled * pooled, 128));
        }

        private static Conv2dOptions convolution(int inputs, int outputs) {
            return new Conv2dOptions(inputs, outputs, new LongPointer(3, 3));
        }

        Tensor forward(Tensor images) {
            Tensor x = torch.relu(second.forward(torch.relu(first.forward(images))));
            x = torch.max_pool2d(x, 2, 2).flatten(1, 3);
            return fourth.forward(torch.relu(third.forward(x)));
        }
    }
}
