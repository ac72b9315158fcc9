package org.horovod4j.benchmarks.training.djl;

import ai.djl.basicmodelzoo.cv.classification.ResNetV1;
import ai.djl.ndarray.types.Shape;
import ai.djl.nn.Activation;
import ai.djl.nn.Block;
import ai.djl.nn.Blocks;
import ai.djl.nn.SequentialBlock;
import ai.djl.nn.convolutional.Conv2d;
import ai.djl.nn.core.Linear;
import ai.djl.nn.pooling.Pool;

import java.util.Arrays;
import java.util.Locale;

/// A network to train.
enum NeuralNetwork {
    /// ResNet-50 for 1000 classes, the usual benchmark, on square images of any size.
    RESNET50(3, 1000, 64, 10) {
        @Override
        Block block(int side) {
            return ResNetV1.builder()
                    .setImageShape(new Shape(3, side, side))
                    .setNumLayers(50)
                    .setOutSize(1000)
                    .build();
        }
    },
    /// Two convolutions and two dense layers for ten classes, with 1.2 million parameters: a common
    /// first network for MNIST.
    MNIST(1, 10, 28, 100) {
        @Override
        Block block(int side) {
            return new SequentialBlock()
                    .add(convolution(32))
                    .add(Activation::relu)
                    .add(convolution(64))
                    .add(Activation::relu)
                    .add(Pool.maxPool2dBlock(new Shape(2, 2), new Shape(2, 2)))
                    .add(Blocks.batchFlattenBlock())
                    .add(Linear.builder().setUnits(128).build())
                    .add(Activation::relu)
                    .add(Linear.builder().setUnits(10).build());
        }
    };

    private final int channels;
    private final int classes;

    /// A sufficient image size for the warm-up, in pixels.
    private final int warmUpSide;

    private final int warmUpSteps;

    NeuralNetwork(int channels, int classes, int warmUpSide, int warmUpSteps) {
        this.channels = channels;
        this.classes = classes;
        this.warmUpSide = warmUpSide;
        this.warmUpSteps = warmUpSteps;
    }

    static NeuralNetwork parse(String text) {
        return Arrays.stream(values())
                .filter(neuralNetwork -> neuralNetwork.toString().equals(text))
                .findFirst()
                .orElseThrow(
                        () ->
                                new IllegalArgumentException(
                                        "there is no network '%s': choose one of %s"
                                                .formatted(text, Arrays.toString(values()))));
    }

    /// A new network without weights.
    ///
    /// @param side the width and height of the images, in pixels
    abstract Block block(int side);

    Shape input(int batch, int side) {
        return new Shape(batch, channels, side, side);
    }

    /// The shape of a small input that is fast to compute, at most `batch` images of size `side`.
    /// Batch normalization needs two images.
    Shape warmUpInput(int batch, int side) {
        return input(Math.min(batch, 2), Math.min(side, warmUpSide));
    }

    /// The number of warm-up steps that take a few seconds in every mode.
    int warmUpSteps() {
        return warmUpSteps;
    }

    int classes() {
        return classes;
    }

    private static Block convolution(int filters) {
        return Conv2d.builder().setKernelShape(new Shape(3, 3)).setFilters(filters).build();
    }

    @Override
    public String toString() {
        return name().toLowerCase(Locale.ROOT);
    }
}
