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

/// [Digits] as DJL wants them: one array of all images, and one of what they show.
final class DigitsDataset {
    private static final float WHITE = 255;

    private DigitsDataset() {}

    /// The set `train` or `t10k` of a folder, each image a channel of 28 by 28 numbers from 0 to 1.
    static ArrayDataset read(Path folder, String set, Model model, Sampler sampler)
            throws IOException {
        Digits digits = Digits.read(folder, set);
        Shape images = new Shape(digits.count(), 1, 28, 28);
        Shape labels = new Shape(digits.count());
        NDManager manager = model.getNDManager();
        try (NDArray pixels = manager.create(digits.pixels(), images, DataType.UINT8);
                NDArray shown = manager.create(digits.labels(), labels, DataType.UINT8)) {
            return new ArrayDataset.Builder()
                    .setData(pixels.toType(DataType.FLOAT32, false).divi(WHITE))
                    .optLabels(shown.toType(DataType.FLOAT32, false))
                    .setSampling(sampler)
                    .build();
        }
    }
}
