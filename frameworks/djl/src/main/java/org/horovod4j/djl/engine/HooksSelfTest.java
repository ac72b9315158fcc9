package org.horovod4j.djl.engine;

import ai.djl.Device;
import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.Shape;

import java.lang.foreign.ValueLayout;
import java.util.Optional;

/// Tries the hooks once: one parameter of one element, one function of it, one backward.
///
/// Backward is libtorch's own and not that of a gradient collector, of which DJL allows one at a
/// time: the program may have it open.
final class HooksSelfTest {
    private static final float FACTOR = 3;
    private static final float TRANSFORMED = 5;

    private final Autograd autograd;
    private final BackwardHooks.Available hooks;
    private int accumulations;
    private int transforms;

    HooksSelfTest(Autograd autograd, BackwardHooks.Available hooks) {
        this.autograd = autograd;
        this.hooks = hooks;
    }

    /// What did not go as it should; nothing if all did.
    Optional<String> failure() {
        try {
            return runTest();
        } catch (RuntimeException | LinkageError e) {
            return Optional.of(e.toString()); // training goes on without them
        }
    }

    private Optional<String> runTest() {
        try (NDManager manager = NDManager.newBaseManager(Device.cpu(), "PyTorch")) {
            NDArray weight = manager.ones(new Shape(1));
            weight.setRequiresGradient(true);
            try (HookRegistration hookRegistration =
                    hooks.onGradient(weight, () -> accumulations++)) {
                autograd.withGradMode(true, () -> runBackward(weight));
                hookRegistration.rethrow();
            }
            return check(weight.getGradient().getFloat());
        }
    }

    private void runBackward(NDArray weight) {
        // an array, since DJL lets go of a number that it multiplies by before backward needs it
        NDArray product = weight.mul(weight.getManager().full(weight.getShape(), FACTOR));
        hooks.transformGradient(
                product,
                gradient -> {
                    transforms++;
                    gradient.set(ValueLayout.JAVA_FLOAT, 0, TRANSFORMED);
                });
        autograd.backward(PyTorchAccess.handle(product.sum()));
    }

    private Optional<String> check(float gradient) {
        if (accumulations != 1 || transforms != 1) {
            return Optional.of(
                    "one backward called the hook of a parameter %d times and that of a result %d times"
                            .formatted(accumulations, transforms));
        }
        return gradient == FACTOR * TRANSFORMED
                ? Optional.empty()
                : Optional.of(
                        "a gradient became %s instead of %s"
                                .formatted(gradient, FACTOR * TRANSFORMED));
    }
}
