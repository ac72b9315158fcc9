package org.horovod4j.djl;

import ai.djl.ndarray.NDArray;

import org.horovod4j.djl.engine.Hooks;
import org.horovod4j.djl.engine.Registration;
import org.jspecify.annotations.Nullable;

import java.util.function.IntConsumer;

/// Keeps a hook on the array of each parameter that is trained.
final class GradientHooks implements AutoCloseable {
    private final Hooks.Working hooks;
    private final BlockParameters parameters;
    private final IntConsumer ready;

    /// DJL's ids of the arrays that have a hook.
    private final @Nullable String[] hooked;

    private final @Nullable Registration[] registrations;

    /// @param ready told of the parameter whose gradient a backward pass has added to
    GradientHooks(Hooks.Working hooks, BlockParameters parameters, IntConsumer ready) {
        this.hooks = hooks;
        this.parameters = parameters;
        this.ready = ready;
        this.hooked = new String[parameters.count()];
        this.registrations = new Registration[parameters.count()];
    }

    /// Follows parameters that were thawed, or that have another array since somebody loaded or
    /// initialised them anew.
    void follow() {
        for (int i = 0; i < hooked.length; i++) {
            if (parameters.isTrainable(i) && isNew(i)) {
                attach(i);
            }
        }
    }

    private boolean isNew(int parameter) {
        NDArray array = parameters.array(parameter);
        return !array.getUid().equals(hooked[parameter]) && hooks.seesGradient(array);
    }

    private void attach(int parameter) {
        Registration before = registrations[parameter];
        if (before != null) {
            before.close();
        }
        NDArray array = parameters.array(parameter);
        registrations[parameter] = hooks.onGradient(array, () -> ready.accept(parameter));
        hooked[parameter] = array.getUid();
    }

    /// Throws what a hook could not tell its caller.
    void rethrow() {
        for (Registration registration : registrations) {
            if (registration != null) {
                registration.rethrow();
            }
        }
    }

    @Override
    public void close() {
        for (Registration registration : registrations) {
            if (registration != null) {
                registration.close();
            }
        }
    }
}
