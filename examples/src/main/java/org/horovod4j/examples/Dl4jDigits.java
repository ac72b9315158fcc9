package org.horovod4j.examples;

import org.deeplearning4j.nn.conf.CNN2DFormat;
import org.deeplearning4j.nn.conf.inputs.InputType;
import org.horovod4j.Hvd;
import org.horovod4j.data.LastBatch;
import org.horovod4j.data.Sampling;
import org.horovod4j.data.Shard;
import org.horovod4j.dl4j.SampledDataSetIterator;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.dataset.DataSet;
import org.nd4j.linalg.factory.Nd4j;

/// Handwritten digits as data of Deeplearning4j.
final class Dl4jDigits {
    /// Images with the channel last, as Keras has them too: samples, rows, columns, channel.
    static final InputType INPUT = InputType.convolutional(28, 28, 1, CNN2DFormat.NHWC);

    private static final int BATCH = 32;
    private static final int TEST_BATCH = 500;
    private static final int DIGITS = 10;

    private Dl4jDigits() {}

    /// This rank's part, in another order in each epoch. All ranks have the same number of full batches.
    static SampledDataSetIterator shuffled(MnistData data, long seed) {
        return iterator(
                data,
                Sampling.shuffled(seed)
                        .withLastBatch(LastBatch.DROP)
                        .shard(data.count(), BATCH, Hvd.communicator()));
    }

    /// This rank's part, for a test.
    static SampledDataSetIterator inOrder(MnistData data) {
        return iterator(
                data, Sampling.inOrder().shard(data.count(), TEST_BATCH, Hvd.communicator()));
    }

    private static SampledDataSetIterator iterator(MnistData data, Shard shard) {
        return new SampledDataSetIterator(shard, images -> batch(data, images));
    }

    private static DataSet batch(MnistData data, int[] images) {
        float[] pixels = new float[images.length * MnistData.PIXELS];
        INDArray labels = Nd4j.zeros(images.length, DIGITS);
        for (int i = 0; i < images.length; i++) {
            data.copyTo(pixels, i, images[i]);
            labels.putScalar(i, data.label(images[i]), 1);
        }
        return new DataSet(Nd4j.create(pixels, new int[] {images.length, 28, 28, 1}, 'c'), labels);
    }
}
