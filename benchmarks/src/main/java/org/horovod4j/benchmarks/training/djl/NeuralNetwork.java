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

/// What is trained.
enum NeuralNetwork {
    /// ResNet-50 for 1000 classes, the usual test, on square images of any size.
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
    /// Two convolutions and two dense layers for ten classes, 1.2 million parameters: the usual first
    /// network for MNIST.
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

    /// The side of images that are large enough, in pixels.
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

    /// A new one, without weights yet.
    ///
    /// @param side of the images, in pixels
    abstract Block block(int side);

    Shape input(int batch, int side) {
        return new Shape(batch, channels, side, side);
    }

    /// Of images that cost little to compute, no more and no larger than these. Batch normalization
    /// needs two.
    Shape warmUpInput(int batch, int side) {
        return input(Math.min(batch, 2), Math.min(side, warmUpSide));
    }

    /// How many steps on them, in every mode, take some seconds.
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
