package org.horovod4j.benchmarks.runtime;

import org.horovod4j.Shape;

import java.util.ArrayList;
import java.util.List;

/// The parameters of ResNet-50 for 1000 classes (He et al., "Deep Residual Learning for Image
/// Recognition", 2015, table 1), in the order of the forward pass: 161 tensors, from 64 floats to
/// nine megabytes, 25,557,032 floats in all.
///
/// This is the usual benchmark because of its mixture of sizes: a few large tensors hold most of
/// the bytes, and about a hundred small tensors would each cost a message.
public final class ResNet50 {
    private static final int IMAGE_CHANNELS = 3;
    private static final int STEM_CHANNELS = 64;
    private static final int CLASSES = 1000;

    /// The number of bottleneck blocks in each of the four stages.
    private static final int[] BLOCKS = {3, 4, 6, 3};

    /// The ratio of a block's output channels to its inner channels.
    private static final int EXPANSION = 4;

    private final List<ModelParameter> parameters = new ArrayList<>();

    private ResNet50() {
        convolution("stem", IMAGE_CHANNELS, STEM_CHANNELS, 7);
        int input = STEM_CHANNELS;
        int middle = STEM_CHANNELS;
        for (int stage = 0; stage < BLOCKS.length; stage++) {
            for (int block = 0; block < BLOCKS[stage]; block++) {
                bottleneck("stage%d.block%d".formatted(stage + 1, block + 1), input, middle);
                input = middle * EXPANSION;
            }
            middle *= 2;
        }
        add("classifier.weight", CLASSES, input);
        add("classifier.bias", CLASSES);
    }

    public static List<ModelParameter> parameters() {
        return List.copyOf(new ResNet50().parameters);
    }

    /// The number of multiplications with this parameter in the forward pass of one image: each of
    /// its floats is used once at every position of the layer's output. The sum over the network is
    /// 3.8 billion.
    ///
    /// The resolution of the stage is used for all its layers, including those that lead into it.
    public static long multiplications(ModelParameter modelParameter) {
        String part = modelParameter.name().substring(0, modelParameter.name().indexOf('.'));
        long side =
                switch (part) {
                    case "stem" -> 112;
                    case "stage1" -> 56;
                    case "stage2" -> 28;
                    case "stage3" -> 14;
                    case "stage4" -> 7;
                    case "classifier" -> 1;
                    default ->
                            throw new IllegalArgumentException(
                                    "'%s' is no parameter of ResNet-50"
                                            .formatted(modelParameter.name()));
                };
        return modelParameter.shape().elementCount() * side * side;
    }

    private void bottleneck(String name, int input, int middle) {
        int output = middle * EXPANSION;
        convolution(name + ".narrow", input, middle, 1);
        convolution(name + ".middle", middle, middle, 3);
        convolution(name + ".widen", middle, output, 1);
        if (input != output) { // the shortcut must match the output of the block
            convolution(name + ".shortcut", input, output, 1);
        }
    }

    /// A convolution has no bias, because the following batch normalization would cancel it.
    private void convolution(String name, int input, int output, int window) {
        add(name + ".weight", output, input, window, window);
        add(name + ".norm.weight", output);
        add(name + ".norm.bias", output);
    }

    private void add(String name, long... dimensions) {
        parameters.add(new ModelParameter(name, Shape.of(dimensions)));
    }
}
