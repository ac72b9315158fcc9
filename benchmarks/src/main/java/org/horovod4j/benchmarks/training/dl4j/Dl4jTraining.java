package org.horovod4j.benchmarks.training.dl4j;

import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.horovod4j.Communicator;
import org.horovod4j.benchmarks.training.NetworkTraining;
import org.horovod4j.benchmarks.training.TrainingMode;
import org.horovod4j.dl4j.ArrayTensors;
import org.horovod4j.dl4j.HvdDl4j;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.dataset.DataSet;
import org.nd4j.linalg.factory.Nd4j;
import org.nd4j.linalg.learning.config.Nesterovs;

import java.util.EnumSet;
import java.util.Random;
import java.util.Set;
import java.util.zip.CRC32C;

/// Trains a [ConvolutionalNetwork] on random images.
final class Dl4jTraining implements NetworkTraining {
    /// DL4J has the gradient when the backward pass is over, so there is no overlap.
    static final Set<TrainingMode> MODES =
            EnumSet.of(TrainingMode.INDEPENDENT, TrainingMode.BARRIER, TrainingMode.SEQUENTIAL);

    private static final int WARM_UP_IMAGES = 2;
    private static final double LEARNING_RATE = 0.01;
    private static final double MOMENTUM = 0.9;
    private static final long SEED = 1;

    private final Communicator comm;
    private final TrainingMode mode;
    private final MultiLayerNetwork network;
    private final DataSet batch;
    private final DataSet warmUpBatch;

    /// @param side the width and height of the images, in pixels
    Dl4jTraining(Communicator comm, TrainingMode mode, int batch, int side) {
        this.comm = comm;
        this.mode = mode;
        this.network = ConvolutionalNetwork.create(side, new Nesterovs(LEARNING_RATE, MOMENTUM));
        switch (mode) {
            case INDEPENDENT, BARRIER -> {}
            case SEQUENTIAL -> HvdDl4j.distributed(network, comm.processSet(), _ -> {});
            case ALLREDUCE, OVERLAP, DEFAULT ->
                    throw new IllegalArgumentException("not with DL4J: " + mode);
        }
        // In all modes, so that all start with the same weights.
        HvdDl4j.broadcastParameters(comm, network, 0);
        this.batch = randomBatch(batch, side);
        this.warmUpBatch = randomBatch(Math.min(batch, WARM_UP_IMAGES), side);
    }

    /// Other images on each rank, so that the gradients differ.
    private DataSet randomBatch(int count, int side) {
        Random random = new Random(SEED + comm.rank());
        float[] pixels = new float[count * side * side];
        for (int i = 0; i < pixels.length; i++) {
            pixels[i] = random.nextFloat();
        }
        INDArray labels = Nd4j.zeros(count, ConvolutionalNetwork.CLASSES);
        for (int i = 0; i < count; i++) {
            labels.putScalar(i, random.nextInt(ConvolutionalNetwork.CLASSES), 1);
        }
        return new DataSet(Nd4j.create(pixels, new int[] {count, 1, side, side}, 'c'), labels);
    }

    @Override
    public long step() {
        return step(batch);
    }

    @Override
    public void warmUpStep() {
        long _ = step(warmUpBatch);
    }

    private long step(DataSet input) {
        network.fit(input);
        return switch (mode) {
            case BARRIER -> {
                long start = System.nanoTime();
                comm.barrier();
                yield System.nanoTime() - start;
            }
            case INDEPENDENT -> 0;
            default -> UNKNOWN;
        };
    }

    @Override
    public long gradientBytes() {
        return network.numParams() * Float.BYTES;
    }

    @Override
    public long checksum() {
        CRC32C checksum = new CRC32C();
        checksum.update(ArrayTensors.view(network.params()).segment().asByteBuffer());
        return checksum.getValue();
    }

    @Override
    public void checkMode() {
        if (!HvdDl4j.isDistributed(network)) {
            throw new IllegalStateException("the updater of the network is not distributed");
        }
    }

    @Override
    public void close() {
        network.close();
    }
}
