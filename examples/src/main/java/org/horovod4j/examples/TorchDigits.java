package org.horovod4j.examples;

import org.bytedeco.javacpp.FloatPointer;
import org.bytedeco.javacpp.LongPointer;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.IValue;
import org.bytedeco.pytorch.IValueVector;
import org.bytedeco.pytorch.JitModule;
import org.bytedeco.pytorch.LongOptional;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TensorOptions;
import org.bytedeco.pytorch.global.torch;
import org.bytedeco.pytorch.global.torch.ScalarType;

/// Images and labels of MNIST as tensors of PyTorch.
final class TorchDigits {
    /// Pixels of a side of an image.
    private static final int SIDE = 28;

    private TorchDigits() {}

    static Tensor images(MnistData data, int[] batch) {
        float[] pixels = new float[batch.length * MnistData.PIXELS];
        for (int i = 0; i < batch.length; i++) {
            data.copyTo(pixels, i, batch[i]);
        }
        return torch.from_blob(
                        new FloatPointer(pixels),
                        new long[] {batch.length, 1, SIDE, SIDE},
                        new TensorOptions(ScalarType.Float))
                .clone();
    }

    static Tensor labels(MnistData data, int[] batch) {
        long[] digits = new long[batch.length];
        for (int i = 0; i < batch.length; i++) {
            digits[i] = data.label(batch[i]);
        }
        return torch.from_blob(
                        new LongPointer(digits),
                        new long[] {batch.length},
                        new TensorOptions(ScalarType.Long))
                .clone();
    }

    static Tensor forward(JitModule network, Tensor images) {
        return network.forward(new IValueVector(new IValue(images))).toTensor();
    }

    /// How many images of a batch a network recognises.
    static int countCorrect(JitModule network, MnistData data, int[] batch) {
        try (PointerScope _ = new PointerScope()) {
            return countCorrect(forward(network, images(data, batch)), labels(data, batch));
        }
    }

    /// How many outputs are largest at the right digit.
    static int countCorrect(Tensor outputs, Tensor labels) {
        return outputs.argmax(new LongOptional(1), false).eq(labels).sum().item_int();
    }
}
