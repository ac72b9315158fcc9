package org.horovod4j.examples;

import org.tensorflow.Operand;
import org.tensorflow.op.Ops;
import org.tensorflow.types.TFloat32;

/// Networks of Horovod's published results in TensorFlow, for images of 224 by 224 pixels.
enum TensorFlowModel {
    RESNET50("resnet50", "ResNet-50"),
    VGG16("vgg16", "VGG-16");

    /// The width and height of images.
    static final int PIXELS = 224;

    private static final float DROPOUT = 0.5f;

    private final String option;
    private final String title;

    TensorFlowModel(String option, String title) {
        this.option = option;
        this.title = title;
    }

    /// Its name as an option.
    String option() {
        return option;
    }

    /// Adds the network to a graph.
    ///
    /// @return a score for each class
    Operand<TFloat32> build(Ops tf, Operand<TFloat32> images, int classes) {
        return switch (this) {
            case RESNET50 -> resNet50(tf, images, classes);
            case VGG16 -> vgg16(tf, images, classes);
        };
    }

    /// Sixteen blocks of three convolutions in four stages (He and others, arXiv 1512.03385, table
    /// 1).
    private static Operand<TFloat32> resNet50(Ops tf, Operand<TFloat32> images, int classes) {
        TensorFlowLayers layers = new TensorFlowLayers(tf);
        Operand<TFloat32> hidden =
                layers.maxPool(tf.nn.relu(normalized(layers, "stem", images, 64, 7, 2)), 3, 2);
        int[] blocks = {3, 4, 6, 3};
        int filters = 64;
        for (int stage = 0; stage < blocks.length; stage++) {
            for (int block = 0; block < blocks[stage]; block++) {
                hidden =
                        bottleneck(
                                tf,
                                "stage%d_block%d".formatted(stage + 1, block + 1),
                                hidden,
                                filters,
                                stage > 0 && block == 0 ? 2 : 1);
            }
            filters *= 2;
        }
        return layers.dense("classes", layers.averagePool(hidden), classes);
    }

    private static Operand<TFloat32> bottleneck(
            Ops tf, String name, Operand<TFloat32> input, int filters, int stride) {
        TensorFlowLayers layers = new TensorFlowLayers(tf);
        int outputs = 4 * filters;
        Operand<TFloat32> narrow =
                tf.nn.relu(normalized(layers, name + "_narrow", input, filters, 1, stride));
        Operand<TFloat32> middle =
                tf.nn.relu(normalized(layers, name + "_middle", narrow, filters, 3, 1));
        Operand<TFloat32> wide = normalized(layers, name + "_wide", middle, outputs, 1, 1);
        Operand<TFloat32> shortcut =
                input.shape().get(3) == outputs
                        ? input
                        : normalized(layers, name + "_shortcut", input, outputs, 1, stride);
        return tf.nn.relu(tf.math.add(wide, shortcut));
    }

    private static Operand<TFloat32> normalized(
            TensorFlowLayers layers,
            String name,
            Operand<TFloat32> input,
            int filters,
            int window,
            int stride) {
        return layers.batchNorm(name, layers.convolution(name, input, filters, window, stride));
    }

    /// Thirteen convolutions of 3 by 3 pixels in five stages, and three fully connected layers
    /// (Simonyan and Zisserman, arXiv 1409.1556, column D). Most of its 138 million parameters are in
    /// the first of these.
    private static Operand<TFloat32> vgg16(Ops tf, Operand<TFloat32> images, int classes) {
        TensorFlowLayers layers = new TensorFlowLayers(tf);
        int[] convolutions = {2, 2, 3, 3, 3};
        int[] filters = {64, 128, 256, 512, 512};
        Operand<TFloat32> hidden = images;
        for (int stage = 0; stage < convolutions.length; stage++) {
            for (int layer = 0; layer < convolutions[stage]; layer++) {
                String name = "stage%d_layer%d".formatted(stage + 1, layer + 1);
                hidden =
                        tf.nn.relu(
                                layers.bias(
                                        name,
                                        layers.convolution(name, hidden, filters[stage], 3, 1)));
            }
            hidden = layers.maxPool(hidden, 2, 2);
        }
        hidden = layers.flatten(hidden);
        for (int layer = 1; layer <= 2; layer++) {
            hidden = dropout(tf, tf.nn.relu(layers.dense("dense" + layer, hidden, 4096)));
        }
        return layers.dense("classes", hidden, classes);
    }

    /// Sets random numbers to zero, and scales the others, so that the sum stays about the same.
    private static Operand<TFloat32> dropout(Ops tf, Operand<TFloat32> input) {
        Operand<TFloat32> kept =
                tf.dtypes.cast(
                        tf.math.greaterEqual(
                                tf.random.randomUniform(tf.shape(input), TFloat32.class),
                                tf.constant(DROPOUT)),
                        TFloat32.class);
        return tf.math.mul(input, tf.math.mul(kept, tf.constant(1 / (1 - DROPOUT))));
    }

    @Override
    public String toString() {
        return title;
    }
}
