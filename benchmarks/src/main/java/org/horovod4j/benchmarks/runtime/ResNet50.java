package org.horovod4j.benchmarks.runtime;

import org.horovod4j.Shape;

import java.util.ArrayList;
import java.util.List;

/// The parameters of ResNet-50 for 1000 classes (He et al., "Deep Residual Learning for Image
/// Recognition", 2015, table 1), in the order of the forward pass: 161 tensors, from 64 floats to
/// nine megabytes, 25,557,032 floats in all.
///
/// This mixture is why it is the usual test: a few large tensors hold the bytes, and a hundred
/// small ones would cost a message each.
public final class ResNet50 {
    private static final int IMAGE_CHANNELS = 3;
    private static final int STEM_CHANNELS = 64;
    private static final int CLASSES = 1000;

    /// Bottleneck blocks of each of the four stages.
    private static final int[] BLOCKS = {3, 4, 6, 3};

    /// A block's output has this many times the channels of its middle.
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

    /// How many multiplications of one image's forward pass use this parameter: each of its floats once
    /// at every position of its layer's output. The sum over the network is 3.8 thousand million.
    ///
    /// Counted at the resolution of the stage, also for the layers that lead into it.
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
        if (input != output) { // what goes past the block must match what comes out of it
            convolution(name + ".shortcut", input, output, 1);
        }
    }

    /// A convolution has no bias, since the batch normalisation after it would undo one.
    private void convolution(String name, int input, int output, int window) {
        add(name + ".weight", output, input, window, window);
        add(name + ".norm.weight", output);
        add(name + ".norm.bias", output);
    }

    private void add(String name, long... dimensions) {
        parameters.add(new ModelParameter(name, Shape.of(dimensions)));
    }
}
