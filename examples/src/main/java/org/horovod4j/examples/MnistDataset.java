package org.horovod4j.examples;

import ai.djl.Model;
import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import ai.djl.training.dataset.ArrayDataset;
import ai.djl.training.dataset.Sampler;

import java.io.IOException;
import java.nio.file.Path;

/// [MnistData] as a data set of DJL: an array of images and an array of labels.
final class MnistDataset {
    private static final float WHITE = 255;

    private MnistDataset() {}

    /// The set `train` or `t10k` of a folder. An image is one channel of 28 by 28 numbers from 0 to 1.
    static ArrayDataset read(Path folder, String set, Model model, Sampler sampler)
            throws IOException {
        MnistData mnistData = MnistData.read(folder, set);
        Shape images = new Shape(mnistData.count(), 1, 28, 28);
        Shape labels = new Shape(mnistData.count());
        NDManager manager = model.getNDManager();
        try (NDArray pixels = manager.create(mnistData.pixels(), images, DataType.UINT8);
                NDArray shown = manager.create(mnistData.labels(), labels, DataType.UINT8)) {
            return new ArrayDataset.Builder()
                    .setData(pixels.toType(DataType.FLOAT32, false).divi(WHITE))
                    .optLabels(shown.toType(DataType.FLOAT32, false))
                    .setSampling(sampler)
                    .build();
        }
    }
}
