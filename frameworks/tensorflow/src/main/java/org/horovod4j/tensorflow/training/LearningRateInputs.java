package org.horovod4j.tensorflow.training;

import org.horovod4j.tensorflow.PreparedRun;
import org.tensorflow.Graph;
import org.tensorflow.GraphOperation;
import org.tensorflow.Output;
import org.tensorflow.Tensor;
import org.tensorflow.types.TBfloat16;
import org.tensorflow.types.TFloat16;
import org.tensorflow.types.TFloat32;
import org.tensorflow.types.TFloat64;

import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

/// The learning rates in a graph.
///
/// Optimizers of TensorFlow Java have a constant learning rate. It is an input of the ops that update
/// variables, and a session may feed any tensor, so a value that is fed there takes the place of the
/// constant.
final class LearningRateInputs {
    /// The position of the learning rate among the inputs of an op.
    private static final Map<String, Integer> POSITIONS =
            Map.of(
                    "ApplyGradientDescent", 1,
                    "ApplyMomentum", 2,
                    "ApplyAdagrad", 2,
                    "ApplyAdagradDA", 4,
                    "ApplyAdadelta", 3,
                    "ApplyRMSProp", 3,
                    "ApplyCenteredRMSProp", 4,
                    "ApplyAdam", 5,
                    "ApplyAdaMax", 4,
                    "ApplyFtrlV2", 4);

    private final Set<Output<?>> inputs;

    private LearningRateInputs(Set<Output<?>> inputs) {
        this.inputs = inputs;
    }

    /// @throws IllegalArgumentException when the graph has no op with a learning rate
    static LearningRateInputs of(Graph graph) {
        Set<Output<?>> inputs = new LinkedHashSet<>();
        graph.operations()
                .forEachRemaining(
                        (GraphOperation node) -> {
                            Integer position = POSITIONS.get(node.type());
                            if (position != null) {
                                inputs.add(node.input(position));
                            }
                        });
        if (inputs.isEmpty()) {
            throw new IllegalArgumentException(
                    """
                    the graph has no optimizer whose learning rate can be changed
                    Add the optimizer to the graph first. Nadam of TensorFlow Java cannot be used with a \
                    LearningRate.""");
        }
        return new LearningRateInputs(inputs);
    }

    /// Feeds the rate for one run.
    ///
    /// @return the tensors to close after the run
    List<Tensor> feed(PreparedRun.Feeds feeds, float rate) {
        List<Tensor> values = new ArrayList<>();
        try {
            for (Output<?> input : inputs) {
                Tensor value = scalar(input, rate);
                values.add(value);
                feeds.feed(input, value);
            }
        } catch (RuntimeException | Error e) {
            values.forEach(Tensor::close);
            throw e;
        }
        return values;
    }

    private static Tensor scalar(Output<?> input, float rate) {
        return switch (input.dataType()) {
            case DT_FLOAT -> TFloat32.scalarOf(rate);
            case DT_DOUBLE -> TFloat64.scalarOf(rate);
            case DT_HALF -> TFloat16.scalarOf(rate);
            case DT_BFLOAT16 -> TBfloat16.scalarOf(rate);
            default ->
                    throw new IllegalStateException(
                            "the learning rate '%s' has type %s"
                                    .formatted(input.op().name(), input.dataType()));
        };
    }
}
