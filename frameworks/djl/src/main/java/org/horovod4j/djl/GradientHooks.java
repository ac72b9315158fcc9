package org.horovod4j.djl;

import ai.djl.ndarray.NDArray;

import org.horovod4j.djl.engine.BackwardHooks;
import org.horovod4j.libtorch.HookRegistration;
import org.jspecify.annotations.Nullable;

import java.util.function.IntConsumer;

/// Keeps a hook on the array of each parameter that is trained.
final class GradientHooks implements AutoCloseable {
    private final BackwardHooks.Available hooks;
    private final BlockParameters parameters;
    private final IntConsumer ready;

    /// DJL's ids of the arrays that have a hook.
    private final @Nullable String[] hooked;

    private final @Nullable HookRegistration[] registrations;

    /// @param ready told of the parameter whose gradient a backward pass has added to
    GradientHooks(BackwardHooks.Available hooks, BlockParameters parameters, IntConsumer ready) {
        this.hooks = hooks;
        this.parameters = parameters;
        this.ready = ready;
        this.hooked = new String[parameters.count()];
        this.registrations = new HookRegistration[parameters.count()];
    }

    /// Follows parameters that were thawed, or that have another array since somebody loaded or
    /// initialised them anew.
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

    /// Throws what a hook could not tell its caller.
    void rethrow() {
        for (HookRegistration hookRegistration : registrations) {
            if (hookRegistration != null) {
                hookRegistration.rethrow();
            }
        }
    }

    @Override
    public void close() {
        for (HookRegistration hookRegistration : registrations) {
            if (hookRegistration != null) {
                hookRegistration.close();
            }
        }
    }
}
