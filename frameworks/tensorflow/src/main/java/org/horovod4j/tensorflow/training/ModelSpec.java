package org.horovod4j.tensorflow.training;

import org.tensorflow.Operand;
import org.tensorflow.Tensor;
import org.tensorflow.op.Op;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.BiConsumer;

/// The parts of a graph that an [Estimator] uses: what `EstimatorSpec` is in Python.
///
/// ```java
/// return new ModelSpec()
///         .input("images", images)
///         .input("labels", labels)
///         .prediction("digit", tf.math.argMax(scores, tf.constant(1)))
///         .metric("accuracy", accuracy)
///         .loss(loss)
///         .trainOp(step);
/// ```
///
/// An input, a prediction or a metric that a mode does not use may be left out.
public final class ModelSpec {
    private final Map<String, Operand<?>> inputs = new LinkedHashMap<>();
    private final Map<String, Operand<?>> predictions = new LinkedHashMap<>();
    private final Map<String, Operand<?>> metrics = new LinkedHashMap<>();
    private final List<TrainingHook> hooks = new ArrayList<>();
    private Optional<Op> trainOp = Optional.empty();

    /// Without parts.
    public ModelSpec() {}

    /// A placeholder that a [TensorBatch] feeds.
    public ModelSpec input(String name, Operand<?> placeholder) {
        return put(inputs, "inputs", name, placeholder);
    }

    /// A result of [Estimator#predict].
    public ModelSpec prediction(String name, Operand<?> output) {
        return put(predictions, "predictions", name, output);
    }

    /// A scalar: the mean over a batch.
    public ModelSpec metric(String name, Operand<?> scalar) {
        return put(metrics, "metrics", name, scalar);
    }

    /// The loss, as a metric.
    public ModelSpec loss(Operand<?> scalar) {
        return metric("loss", scalar);
    }

    /// What an optimizer's `minimize` returns; required to train.
    public ModelSpec trainOp(Op step) {
        trainOp = Optional.of(step);
        return this;
    }

    /// A hook of the training.
    public ModelSpec hook(TrainingHook hook) {
        hooks.add(hook);
        return this;
    }

    private ModelSpec put(
            Map<String, Operand<?>> to, String kind, String name, Operand<?> operand) {
        if (to.putIfAbsent(name, operand) != null) {
            throw new IllegalArgumentException("there are two %s '%s'".formatted(kind, name));
        }
        return this;
    }

    Map<String, Operand<?>> inputs() {
        return inputs;
    }

    Map<String, Operand<?>> predictions() {
        return predictions;
    }

    Map<String, Operand<?>> metrics() {
        return metrics;
    }

    List<TrainingHook> hooks() {
        return hooks;
    }

    Optional<Op> trainOp() {
        return trainOp;
    }

    /// Feeds a batch.
    ///
    /// @param feeds gets each input with its value
    /// @throws IllegalArgumentException when the model has no input of a name in the batch
    void feed(TensorBatch batch, BiConsumer<Operand<?>, Tensor> feeds) {
        batch.tensors()
                .forEach(
                        (name, tensor) -> {
                            Operand<?> input = inputs.get(name);
                            if (input == null) {
                                throw new IllegalArgumentException(
                                        "the batch has a tensor '%s', but the inputs of the model are %s"
                                                .formatted(name, inputs.keySet()));
                            }
                            feeds.accept(input, tensor);
                        });
    }
}
