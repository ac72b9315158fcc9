package org.horovod4j.benchmarks.spark.training;

import ai.djl.ndarray.types.Shape;
import ai.djl.nn.Activation;
import ai.djl.nn.Block;
import ai.djl.nn.Blocks;
import ai.djl.nn.SequentialBlock;
import ai.djl.nn.convolutional.Conv2d;
import ai.djl.nn.core.Linear;
import ai.djl.nn.pooling.Pool;
import ai.djl.training.optimizer.Optimizer;

import java.util.Locale;
import java.util.SplittableRandom;

/// What both programs train: the network of the MNIST example, on random images.
final class DigitTraining {
    static final int BATCH = 64;
    static final int PIXELS = 28 * 28;
    static final int CLASSES = 10;

    private DigitTraining() {}

    static Block network() {
        Shape two = new Shape(2, 2);
        return new SequentialBlock()
                .add(Conv2d.builder().setKernelShape(new Shape(5, 5)).setFilters(16).build())
                .add(Activation::relu)
                .add(Pool.maxPool2dBlock(two, two))
                .add(Conv2d.builder().setKernelShape(new Shape(5, 5)).setFilters(32).build())
                .add(Activation::relu)
                .add(Pool.maxPool2dBlock(two, two))
                .add(Blocks.batchFlattenBlock())
                .add(Linear.builder().setUnits(128).build())
                .add(Activation::relu)
                .add(Linear.builder().setUnits(CLASSES).build());
    }

    static Optimizer optimizer() {
        return Optimizer.adam().build();
    }

    static float[] image(long number) {
        SplittableRandom random = new SplittableRandom(number);
        float[] pixels = new float[PIXELS];
        for (int i = 0; i < PIXELS; i++) {
            pixels[i] = (float) random.nextDouble();
        }
        return pixels;
    }

    static int label(long number) {
        return (int) (number % CLASSES);
    }

    /// The script reads these lines. Only rank 0 prints them.
    static void print(int rows, long nanos) {
        System.out.printf(Locale.ROOT, "rate %.1f%n", rows * 1e9 / nanos);
    }
}
