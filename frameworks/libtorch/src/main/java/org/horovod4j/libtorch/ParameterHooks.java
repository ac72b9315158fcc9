package org.horovod4j.libtorch;

import org.jspecify.annotations.Nullable;

import java.util.Objects;
import java.util.function.IntConsumer;

/// Keeps a hook on each trainable parameter of a network.
public final class ParameterHooks implements AutoCloseable {
    private final Target target;
    private final IntConsumer ready;

    /// The ids of the tensors with a hook.
    private final @Nullable Object[] hooked;

    private final @Nullable HookRegistration[] registrations;

    /// The parameters of a network, by position.
    public interface Target {
        int count();

        /// Whether a backward pass computes a gradient of the parameter.
        boolean requiresGradient(int parameter);

        /// Identifies the tensor of the parameter: another one if it was replaced.
        Object tensorId(int parameter);

        /// Attaches a hook to a parameter that requires a gradient.
        HookRegistration attach(int parameter, Runnable hook);
    }

    /// @param ready called with a parameter after a backward pass has accumulated its gradient
    public ParameterHooks(Target target, IntConsumer ready) {
        this.target = target;
        this.ready = ready;
        this.hooked = new Object[target.count()];
        this.registrations = new HookRegistration[target.count()];
    }

    /// Attaches hooks to parameters that were unfrozen, or that have a new tensor because they were
    /// loaded or initialised again.
    public void attachNew() {
        for (int i = 0; i < hooked.length; i++) {
            // in this order: the second one is a native call
            if (!target.tensorId(i).equals(hooked[i]) && target.requiresGradient(i)) {
                attach(i);
            }
        }
    }

    private void attach(int parameter) {
        HookRegistration before = registrations[parameter];
        if (before != null) {
            before.close();
        }
        registrations[parameter] = target.attach(parameter, () -> ready.accept(parameter));
        hooked[parameter] = Objects.requireNonNull(target.tensorId(parameter));
    }

    /// Throws the exceptions of hooks, which native code cannot pass on.
    public void rethrow() {
        for (HookRegistration registration : registrations) {
            if (registration != null) {
                registration.rethrow();
            }
        }
    }

    /// Removes all hooks.
    @Override
    public void close() {
        for (HookRegistration registration : registrations) {
            if (registration != null) {
                registration.close();
            }
        }
    }
}
