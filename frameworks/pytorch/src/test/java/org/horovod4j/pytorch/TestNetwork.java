package org.horovod4j.pytorch;

import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.Adam;
import org.bytedeco.pytorch.AdamOptions;
import org.bytedeco.pytorch.LinearImpl;
import org.bytedeco.pytorch.Module;
import org.bytedeco.pytorch.Optimizer;
import org.bytedeco.pytorch.SGD;
import org.bytedeco.pytorch.SGDOptions;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch;

import java.util.Map;
import java.util.Objects;
import java.util.stream.LongStream;

/// A small network, equal on every rank: formulas give weights and samples.
public final class TestNetwork extends Module {
    static final int INPUTS = 5;
    static final int OUTPUTS = 3;

    private final LinearImpl first;
    private final LinearImpl second;

    public TestNetwork() {
        super("test");
        first = register_module("first", new LinearImpl(INPUTS, 4));
        second = register_module("second", new LinearImpl(4, OUTPUTS));
        int seed = 0;
        for (Tensor parameter : TorchParameters.named(this).values()) {
            TensorMemory.write(
                    parameter, sines(seed++, TorchTypes.sizes(TorchTypes.shape(parameter))));
        }
    }

    Tensor forward(Tensor inputs) {
        return second.forward(torch.tanh(first.forward(inputs)));
    }

    /// Adds up the gradients of samples `from` to `to`.
    public void pass(int from, int to) {
        try (PointerScope _ = new PointerScope()) {
            loss(from, to).backward();
        }
    }

    Tensor loss(int from, int to) {
        return torch.mse_loss(
                forward(TensorMemory.newTensor(rows(1, from, to, INPUTS))),
                TensorMemory.newTensor(rows(2, from, to, OUTPUTS)));
    }

    Tensor parameter(String name) {
        return Objects.requireNonNull(TorchParameters.named(this).get(name));
    }

    /// All parameters in one array.
    public float[] weights() {
        return weights(TorchParameters.named(this));
    }

    static float[] weights(Map<String, Tensor> tensors) {
        int size = (int) tensors.values().stream().mapToLong(Tensor::numel).sum();
        float[] all = new float[size];
        int at = 0;
        for (Tensor tensor : tensors.values()) {
            float[] part = TensorMemory.view(tensor).toFloatArray();
            System.arraycopy(part, 0, all, at, part.length);
            at += part.length;
        }
        return all;
    }

    Optimizer sgd() {
        SGDOptions options = new SGDOptions(0.1);
        options.momentum().put(0.9);
        return new SGD(parameters(), options);
    }

    public Optimizer adam() {
        return new Adam(parameters(), new AdamOptions(0.01));
    }

    static org.horovod4j.Tensor sines(int seed, long... shape) {
        int count = (int) LongStream.of(shape).reduce(1, (a, b) -> a * b);
        float[] values = new float[count];
        for (int i = 0; i < count; i++) {
            values[i] = (float) Math.sin(seed * 31 + i * 0.7);
        }
        return org.horovod4j.Tensor.of(values, shape);
    }

    private static org.horovod4j.Tensor rows(int seed, int from, int to, int columns) {
        float[] values = new float[(to - from) * columns];
        for (int i = 0; i < values.length; i++) {
            values[i] = (float) Math.sin(seed + (from * columns + i) * 1.3);
        }
        return org.horovod4j.Tensor.of(values, to - from, columns);
    }
}
