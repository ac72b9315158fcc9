package org.horovod4j.pytorch;

import org.bytedeco.pytorch.Optimizer;
import org.bytedeco.pytorch.Tensor;
import org.horovod4j.optim.Gradient;
import org.horovod4j.optim.Gradients;
import org.jspecify.annotations.Nullable;

import java.util.List;
import java.util.Objects;
import java.util.Optional;

/// The change of each parameter by the wrapped optimizer, which Adasum combines.
///
/// All parameters are updated with the gradients of this rank. Their changes are reduced, and the reduced
/// changes are added to the old values. So momentum and adaptive rates use the gradients of this rank.
final class ParameterDeltas implements Gradients {
    private final ParameterGradients gradients;
    private final Optimizer optimizer;
    private final org.horovod4j.@Nullable Tensor[] deltas;
    private final @Nullable Tensor[] startWeights;
    private boolean isUpdated;

    ParameterDeltas(ParameterGradients gradients, Optimizer optimizer) {
        this.gradients = gradients;
        this.optimizer = optimizer;
        this.deltas = new org.horovod4j.Tensor[gradients.names().size()];
        this.startWeights = new Tensor[gradients.names().size()];
    }

    @Override
    public List<String> names() {
        return gradients.names();
    }

    @Override
    public Optional<org.horovod4j.Tensor> value(int parameter) {
        return gradients.value(parameter);
    }

    @Override
    public boolean isTrainable(int parameter) {
        return gradients.isTrainable(parameter);
    }

    /// A running backward pass may still need the old weights.
    @Override
    public boolean canAcquireDuringBackward() {
        return false;
    }

    /// Reduces the changes of a step. If that fails, all parameters get the values that they had before
    /// the step. The state of the optimizer, such as momentum, stays changed.
    void step(Runnable reduction) {
        isUpdated = false;
        try {
            reduction.run();
        } catch (RuntimeException | Error e) {
            rollBack();
            throw e;
        } finally {
            releaseStart();
        }
    }

    private void rollBack() {
        for (int i = 0; i < startWeights.length; i++) {
            Tensor start = startWeights[i];
            if (start != null) {
                TensorMemory.write(gradients.parameter(i), TensorMemory.view(start));
            }
        }
    }

    private void releaseStart() {
        for (int i = 0; i < startWeights.length; i++) {
            Tensor start = startWeights[i];
            if (start != null) {
                start.close();
                startWeights[i] = null;
            }
        }
    }

    /// Updates all parameters, when the first change of a step is needed: not if the step fails before.
    private void update() {
        isUpdated = true;
        gradients.trainable().forEach(this::rememberStart);
        optimizer.step();
    }

    private void rememberStart(int parameter) {
        try (Tensor weight = gradients.parameter(parameter).detach()) {
            Tensor start = weight.clone();
            start.retainReference();
            startWeights[parameter] = start;
        }
    }

    @Override
    public Gradient acquire(int parameter) {
        if (!isUpdated) {
            update();
        }
        Tensor start = Objects.requireNonNull(startWeights[parameter]);
        try (Tensor weight = gradients.parameter(parameter).detach();
                Tensor change = weight.sub(start)) {
            org.horovod4j.Tensor delta = deltas[parameter];
            if (delta == null) {
                delta = TensorMemory.copy(change);
                deltas[parameter] = delta;
            } else {
                TensorMemory.read(change, delta);
            }
            return new Gradient.Dense(delta);
        }
    }

    @Override
    public void setReduced(int parameter, Gradient reduced) {
        org.horovod4j.Tensor delta = Objects.requireNonNull(deltas[parameter]);
        Tensor start = Objects.requireNonNull(startWeights[parameter]);
        try (Tensor change = TensorMemory.newTensor(delta);
                Tensor there = change.to(start.device(), start.scalar_type());
                Tensor sum = start.add(there)) {
            TensorMemory.write(gradients.parameter(parameter), TensorMemory.view(sum));
        }
    }
}
