package org.horovod4j.libtorch;

import java.lang.foreign.ValueLayout;
import java.util.Optional;

/// Tests the hooks with one parameter of one element and one backward pass.
final class HooksSelfTest {
    private static final float FACTOR = 3;
    private static final float TRANSFORMED = 5;

    private final Autograd autograd;
    private final TorchHooks hooks;
    private int accumulations;
    private int transforms;

    HooksSelfTest(Autograd autograd, TorchHooks hooks) {
        this.autograd = autograd;
        this.hooks = hooks;
    }

    /// Why the test failed; empty if it passed.
    Optional<String> failure(TorchHooks.TestNetwork.Factory networks) {
        try (TorchHooks.TestNetwork network = networks.create()) {
            try (HookRegistration registration =
                    hooks.onGradient(network.weight(), () -> accumulations++)) {
                autograd.withGradMode(true, () -> runBackward(network));
                registration.rethrow();
            }
            return check(network.gradient());
        } catch (RuntimeException | LinkageError e) {
            return Optional.of(e.toString()); // training continues without hooks
        }
    }

    /// Calls libtorch's backward and not that of the binding, which may allow only one recording at a
    /// time: the program may have started one.
    private void runBackward(TorchHooks.TestNetwork network) {
        hooks.transformGradient(
                network.multiply(FACTOR),
                Float.BYTES,
                gradient -> {
                    transforms++;
                    gradient.set(ValueLayout.JAVA_FLOAT, 0, TRANSFORMED);
                });
        autograd.backward(network.sum());
    }

    private Optional<String> check(float gradient) {
        if (accumulations != 1 || transforms != 1) {
            return Optional.of(
                    "one backward pass called the hook of a parameter %d times and that of a result %d times"
                            .formatted(accumulations, transforms));
        }
        return gradient == FACTOR * TRANSFORMED
                ? Optional.empty()
                : Optional.of(
                        "a gradient is %s instead of %s".formatted(gradient, FACTOR * TRANSFORMED));
    }
}
