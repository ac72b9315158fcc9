package org.horovod4j.tensorflow;

import org.tensorflow.Graph;
import org.tensorflow.Operand;
import org.tensorflow.Output;
import org.tensorflow.framework.optimizers.Optimizer;
import org.tensorflow.ndarray.Shape;
import org.tensorflow.op.Op;
import org.tensorflow.op.Ops;
import org.tensorflow.op.core.Variable;
import org.tensorflow.op.train.ApplyAdam;
import org.tensorflow.types.TFloat32;
import org.tensorflow.types.family.TType;

import java.util.ArrayList;
import java.util.List;

/// Adam whose result does not depend on timing.
///
/// The Adam of TensorFlow Java multiplies the powers of beta while it updates variables, which read
/// the powers: in some runs of a step some variables see the old powers and others the new ones, so
/// the variables of ranks drift apart. This one multiplies them after all updates.
///
/// ```java
/// Optimizer optimizer = new Adam(graph, 0.001f * Hvd.size());
/// ```
public final class Adam extends Optimizer {
    private static final String FIRST_MOMENT = "m";
    private static final String SECOND_MOMENT = "v";
    private static final float BETA_1 = 0.9f;
    private static final float BETA_2 = 0.999f;
    private static final float EPSILON = 1e-8f;

    private final Operand<TFloat32> learningRate;
    private final float beta1;
    private final float beta2;
    private final float epsilon;
    private final List<Variable<TFloat32>> powers = new ArrayList<>();

    /// Adam with the usual betas 0.9 and 0.999.
    public Adam(Graph graph, float learningRate) {
        this(graph, Ops.create(graph).constant(learningRate));
    }

    /// The learning rate is any scalar of the graph, such as a placeholder or a variable that a
    /// schedule changes.
    public Adam(Graph graph, Operand<TFloat32> learningRate) {
        this(graph, learningRate, BETA_1, BETA_2, EPSILON);
    }

    public Adam(
            Graph graph, Operand<TFloat32> learningRate, float beta1, float beta2, float epsilon) {
        super(graph);
        this.learningRate = learningRate;
        this.beta1 = beta1;
        this.beta2 = beta2;
        this.epsilon = epsilon;
    }

    @Override
    protected void createSlots(List<Output<? extends TType>> variables) {
        variables.forEach(this::createMoments);
        powers.add(power("beta1_power", beta1));
        powers.add(power("beta2_power", beta2));
    }

    private <T extends TType> void createMoments(Output<T> variable) {
        Operand<T> zeros =
                tf.fill(tf.shape(variable), tf.dtypes.cast(tf.constant(0f), variable.type()));
        createSlot(variable, FIRST_MOMENT, zeros);
        createSlot(variable, SECOND_MOMENT, zeros);
    }

    private Variable<TFloat32> power(String name, float beta) {
        Ops init = tf.withInitScope();
        Variable<TFloat32> power = init.withName(name).variable(Shape.scalar(), TFloat32.class);
        init.assign(power, init.constant(beta));
        return power;
    }

    @Override
    protected <T extends TType> Op applyDense(Ops deps, Output<T> gradient, Output<T> variable) {
        Class<T> type = gradient.type();
        return deps.train.applyAdam(
                variable,
                slot(variable, FIRST_MOMENT),
                slot(variable, SECOND_MOMENT),
                deps.dtypes.cast(powers.get(0), type),
                deps.dtypes.cast(powers.get(1), type),
                deps.dtypes.cast(learningRate, type),
                deps.dtypes.cast(deps.constant(beta1), type),
                deps.dtypes.cast(deps.constant(beta2), type),
                deps.dtypes.cast(deps.constant(epsilon), type),
                gradient,
                ApplyAdam.useLocking(true));
    }

    private <T extends TType> Variable<T> slot(Output<T> variable, String name) {
        return getSlot(variable, name)
                .orElseThrow(() -> new IllegalStateException("no slot " + name));
    }

    /// Multiplies the powers after all variables are updated.
    @Override
    protected Op finish(List<Op> updateOps, String name) {
        Ops after = tf.withControlDependencies(updateOps);
        List<Op> all = new ArrayList<>(updateOps);
        all.add(after.assign(powers.get(0), after.math.mul(powers.get(0), after.constant(beta1))));
        all.add(after.assign(powers.get(1), after.math.mul(powers.get(1), after.constant(beta2))));
        return super.finish(all, name);
    }

    @Override
    public String getOptimizerName() {
        return "Adam";
    }

    @Override
    public String toString() {
        return "Adam{beta1=%s, beta2=%s, epsilon=%s}".formatted(beta1, beta2, epsilon);
    }
}
