package org.horovod4j.examples;

import ai.djl.ndarray.NDArrays;
import ai.djl.ndarray.NDList;
import ai.djl.ndarray.types.Shape;
import ai.djl.nn.Activation;
import ai.djl.nn.Block;
import ai.djl.nn.Blocks;
import ai.djl.nn.ParallelBlock;
import ai.djl.nn.SequentialBlock;
import ai.djl.nn.convolutional.Conv2d;
import ai.djl.nn.core.Linear;
import ai.djl.nn.norm.BatchNorm;
import ai.djl.nn.norm.Dropout;
import ai.djl.nn.pooling.Pool;

import java.util.List;

/// Inception V3 without its second classifier (Szegedy and others, arXiv 1512.00567), for images of 299
/// by 299 pixels.
///
/// A module computes several branches of its input and puts their channels side by side.
final class InceptionV3 {
    private static final Shape ONE = new Shape(1, 1);
    private static final Shape TWO = new Shape(2, 2);
    private static final Shape THREE = new Shape(3, 3);

    private InceptionV3() {}

    static Block block(int classes) {
        return new SequentialBlock()
                .add(convolution(32, 3, 3, TWO, false)) // 149 by 149
                .add(convolution(32, 3, 3, ONE, false))
                .add(convolution(64, 3, 3, ONE, true))
                .add(Pool.maxPool2dBlock(THREE, TWO)) // 73 by 73
                .add(convolution(80, 1, 1, ONE, false))
                .add(convolution(192, 3, 3, ONE, false))
                .add(Pool.maxPool2dBlock(THREE, TWO)) // 35 by 35
                .add(small(32))
                .add(small(64))
                .add(small(64))
                .add(toMiddle()) // 17 by 17
                .add(middle(128))
                .add(middle(160))
                .add(middle(160))
                .add(middle(192))
                .add(toLast()) // 8 by 8
                .add(last())
                .add(last())
                .add(Pool.globalAvgPool2dBlock())
                .add(Blocks.batchFlattenBlock())
                .add(Dropout.builder().optRate(0.5f).build())
                .add(Linear.builder().setUnits(classes).build());
    }

    /// Two convolutions of 3 by 3 in place of one of 5 by 5.
    private static Block small(int pooled) {
        return branches(
                same(64, 1, 1),
                chain(same(48, 1, 1), same(64, 5, 5)),
                chain(same(64, 1, 1), same(96, 3, 3), same(96, 3, 3)),
                chain(average(), same(pooled, 1, 1)));
    }

    private static Block toMiddle() {
        return branches(
                convolution(384, 3, 3, TWO, false),
                chain(same(64, 1, 1), same(96, 3, 3), convolution(96, 3, 3, TWO, false)),
                Pool.maxPool2dBlock(THREE, TWO));
    }

    /// Pairs of convolutions of 1 by 7 and 7 by 1 in place of one of 7 by 7.
    private static Block middle(int inner) {
        return branches(
                same(192, 1, 1),
                chain(same(inner, 1, 1), same(inner, 1, 7), same(192, 7, 1)),
                chain(
                        same(inner, 1, 1),
                        same(inner, 7, 1),
                        same(inner, 1, 7),
                        same(inner, 7, 1),
                        same(192, 1, 7)),
                chain(average(), same(192, 1, 1)));
    }

    private static Block toLast() {
        return branches(
                chain(same(192, 1, 1), convolution(320, 3, 3, TWO, false)),
                chain(
                        same(192, 1, 1),
                        same(192, 1, 7),
                        same(192, 7, 1),
                        convolution(192, 3, 3, TWO, false)),
                Pool.maxPool2dBlock(THREE, TWO));
    }

    private static Block last() {
        return branches(
                same(320, 1, 1),
                chain(same(384, 1, 1), branches(same(384, 1, 3), same(384, 3, 1))),
                chain(same(448, 1, 1), same(384, 3, 3), branches(same(384, 1, 3), same(384, 3, 1))),
                chain(average(), same(192, 1, 1)));
    }

    private static Block average() {
        return Pool.avgPool2dBlock(THREE, ONE, ONE);
    }

    /// Keeps the size of the image.
    private static Block same(int filters, int height, int width) {
        return convolution(filters, height, width, ONE, true);
    }

    private static Block convolution(
            int filters, int height, int width, Shape stride, boolean padded) {
        return new SequentialBlock()
                .add(
                        Conv2d.builder()
                                .setKernelShape(new Shape(height, width))
                                .optStride(stride)
                                .optPadding(
                                        padded ? new Shape(height / 2, width / 2) : new Shape(0, 0))
                                .setFilters(filters)
                                .optBias(false)
                                .build())
                .add(BatchNorm.builder().optEpsilon(1e-3f).optScale(false).build())
                .add(Activation::relu);
    }

    private static Block chain(Block... blocks) {
        return new SequentialBlock().addAll(blocks);
    }

    private static Block branches(Block... blocks) {
        return new ParallelBlock(InceptionV3::sideBySide, List.of(blocks));
    }

    private static NDList sideBySide(List<NDList> outputs) {
        NDList channels = new NDList();
        outputs.forEach(channels::addAll);
        return new NDList(NDArrays.concat(channels, 1));
    }
}
