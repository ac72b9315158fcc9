package org.horovod4j.tensorflow.training;

import org.tensorflow.Tensor;

import java.util.Map;

/// A batch of an [Estimator]: values for the inputs of a [ModelSpec], by their names.
///
/// @param samples how many samples it has; batches count by it in an evaluation
/// @param tensors closed by [#close]
public record TensorBatch(int samples, Map<String, Tensor> tensors) implements AutoCloseable {
    public TensorBatch {
        if (samples < 1) {
            throw new IllegalArgumentException("a batch has at least one sample, not " + samples);
        }
        tensors = Map.copyOf(tensors);
    }

    /// Frees the tensors.
    @Override
    public void close() {
        tensors.values().forEach(Tensor::close);
    }
}
