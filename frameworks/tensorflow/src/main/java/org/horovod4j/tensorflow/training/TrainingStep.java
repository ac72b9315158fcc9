package org.horovod4j.tensorflow.training;

import org.horovod4j.tensorflow.PreparedRun;
import org.tensorflow.Operand;
import org.tensorflow.Output;
import org.tensorflow.Tensor;

import java.util.Map;

/// A step that a [TrainingSession] has made. Its tensors are closed after the hooks.
public final class TrainingStep {
    private final TrainingSession session;
    private final Map<Output<?>, Integer> positions;
    private final PreparedRun.Values result;

    /// @param positions of fetched outputs in the result
    TrainingStep(
            TrainingSession session, Map<Output<?>, Integer> positions, PreparedRun.Values result) {
        this.session = session;
        this.positions = positions;
        this.result = result;
    }

    /// The number of the step, from 1.
    public int number() {
        return session.step();
    }

    public TrainingSession session() {
        return session;
    }

    /// The value of an output that a hook fetches.
    ///
    /// @throws IllegalArgumentException when no hook fetches it
    public Tensor get(Operand<?> output) {
        Integer position = positions.get(output.asOutput());
        if (position == null) {
            throw new IllegalArgumentException(
                    "'%s' is not fetched: return it from TrainingHook.fetches()"
                            .formatted(output.op().name()));
        }
        return result.get(position);
    }

    /// The value of a scalar that a hook fetches.
    public double scalar(Operand<?> output) {
        return Scalars.valueOf(output, get(output));
    }
}
