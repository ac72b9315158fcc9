package org.horovod4j.examples;

import ai.djl.basicmodelzoo.cv.classification.ResNetV1;
import ai.djl.ndarray.types.Shape;
import ai.djl.nn.Activation;
import ai.djl.nn.Block;
import ai.djl.nn.Blocks;
import ai.djl.nn.SequentialBlock;
import ai.djl.nn.convolutional.Conv2d;
import ai.djl.nn.core.Linear;
import ai.djl.nn.norm.Dropout;
import ai.djl.nn.pooling.Pool;

/// The networks of Horovod's published results.
enum BenchmarkModel {
    RESNET50("resnet50", "ResNet-50", 224),
    RESNET101("resnet101", "ResNet-101", 224),
    INCEPTION_V3("inception_v3", "Inception V3", 299),
    VGG16("vgg16", "VGG-16", 224);

    private final String option;
    private final String title;
    private final int pixels;

    BenchmarkModel(String option, String title, int pixels) {
        this.option = option;
        this.title = title;
        this.pixels = pixels;
    }

    /// Its name as an option.
    String option() {
        return option;
    }

    /// The width and height of its images.
    int pixels() {
        return pixels;
    }

    Block block(int classes) {
        return switch (this) {
            case RESNET50 -> resNet(50, classes);
            case RESNET101 -> resNet(101, classes);
            case INCEPTION_V3 -> InceptionV3.block(classes);
            case VGG16 -> vgg16(classes);
        };
    }

    private Block resNet(int layers, int classes) {
        return ResNetV1.builder()
                .setNumLayers(layers)
                .setImageShape(new Shape(3, pixels, pixels))
                .setOutSize(classes)
                .build();
    }

    /// Thirteen convolutions of 3 by 3 pixels in five stages, and three fully connected layers
    /// (Simonyan and Zisserman, arXiv 1409.1556, column D). Most of its 138 million parameters are in
    /// the first of these.
    private static Block vgg16(int classes) {
        SequentialBlock network = new SequentialBlock();
        int[] convolutions = {2, 2, 3, 3, 3};
        int[] filters = {64, 128, 256, 512, 512};
        Shape two = new Shape(2, 2);
        for (int stage = 0; stage < convolutions.length; stage++) {
            for (int layer = 0; layer < convolutions[stage]; layer++) {
                network.add(
                                Conv2d.builder()
                                        .setKernelShape(new Shape(3, 3))
                                        .optPadding(new Shape(1, 1))
                                        .setFilters(filters[stage])
                                        .build())
                        .add(Activation::relu);
            }
            network.add(Pool.maxPool2dBlock(two, two));
        }
        network.add(Blocks.batchFlattenBlock());
        for (int layer = 0; layer < 2; layer++) {
            network.add(Linear.builder().setUnits(4096).build())
                    .add(Activation::relu)
                    .add(Dropout.builder().optRate(0.5f).build());
        }
        return network.add(Linear.builder().setUnits(classes).build());
    }

    @Override
    public String toString() {
        return title;
    }
}
