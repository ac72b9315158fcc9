package org.horovod4j.djl;

import ai.djl.ndarray.NDArray;

import org.horovod4j.djl.engine.BackwardHooks;
import org.horovod4j.libtorch.HookRegistration;
import org.jspecify.annotations.Nullable;

import java.util.function.IntConsumer;

/// Keeps a hook on the array of each trainable parameter.
final class GradientHooks implements AutoCloseable {
    private final BackwardHooks.Available hooks;
    private final BlockParameters parameters;
    private final IntConsumer ready;

    /// The DJL ids of the arrays with a hook.
    private final @Nullable String[] hooked;

    private final @Nullable HookRegistration[] registrations;

    /// @param ready called with a parameter after a backward pass has accumulated its gradient
    GradientHooks(BackwardHooks.Available hooks, BlockParameters parameters, IntConsumer ready) {
        this.hooks = hooks;
        this.parameters = parameters;
        this.ready = ready;
        this.hooked = new String[parameters.count()];
        this.registrations = new HookRegistration[parameters.count()];
    }

    /// Attaches hooks to parameters that were unfrozen, or that have a new array because they were
    /// loaded or initialised again.
    void attachNew() {
        for (int i = 0; i < hooked.length; i++) {
            if (parameters.isTrainable(i) && isNew(i)) {
                attach(i);
            }
        }
    }

    private boolean isNew(int parameter) {
        NDArray array = parameters.array(parameter);
        return !array.getUid().equals(hooked[parameter]) && hooks.requiresGradient(array);
    }

    private void attach(int parameter) {
        HookRegistration before = registrations[parameter];
        if (before != null) {
            before.close();
        }
        NDArray array = parameters.array(parameter);
        registrations[parameter] = hooks.onGradient(array, () -> ready.accept(parameter));
        hooked[parameter] = array.getUid();
    }

    /// Throws the exceptions of hooks, which native code cannot pass on.
    void rethrow() {
        for (HookRegistration registration : registrations) {
            if (registration != null) {
                registration.rethrow();
            }
        }
    }

    @Override
    public void close() {
        for (HookRegistration registration : registrations) {
            if (registration != null) {
                registration.close();
            }
        }
    }
}
