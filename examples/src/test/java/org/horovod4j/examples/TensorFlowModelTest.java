package org.horovod4j.examples;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.tensorflow.Graph;
import org.tensorflow.GraphOperation;
import org.tensorflow.Operand;
import org.tensorflow.ndarray.Shape;
import org.tensorflow.op.Ops;
import org.tensorflow.op.core.Placeholder;
import org.tensorflow.op.core.Variable;
import org.tensorflow.types.TFloat32;

import java.util.Iterator;

class TensorFlowModelTest {
    /// The numbers of trained parameters, as Keras and PyTorch have them.
    @ParameterizedTest
    @CsvSource({"RESNET50, 25557032", "VGG16, 138357544"})
    void networkHasAsManyParametersAsPublished(TensorFlowModel model, long parameters) {
        try (Graph graph = new Graph()) {
            Ops tf = Ops.create(graph);
            int side = TensorFlowModel.PIXELS;
            Operand<TFloat32> scores =
                    model.build(
                            tf,
                            tf.placeholder(
                                    TFloat32.class, Placeholder.shape(Shape.of(1, side, side, 3))),
                            ThroughputBenchmark.CLASSES);
            assertThat(scores.shape()).isEqualTo(Shape.of(1, ThroughputBenchmark.CLASSES));
            long found = 0;
            for (Iterator<GraphOperation> nodes = graph.operations(); nodes.hasNext(); ) {
                GraphOperation node = nodes.next();
                if (node.type().equals(Variable.OP_NAME)) {
                    found += node.output(0).shape().size();
                }
            }
            assertThat(found).isEqualTo(parameters);
        }
    }
}
