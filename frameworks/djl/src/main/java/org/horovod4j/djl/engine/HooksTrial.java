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
final class HooksTrial {
    private static final float FACTOR = 3;
    private static final float CHANGED = 5;

    private final Autograd autograd;
    private final Hooks.Working hooks;
    private int accumulations;
    private int changes;

    HooksTrial(Autograd autograd, Hooks.Working hooks) {
        this.autograd = autograd;
        this.hooks = hooks;
    }

    /// What did not go as it should; nothing if all did.
    Optional<String> failure() {
        try {
            return tryOut();
        } catch (RuntimeException | LinkageError e) {
            return Optional.of(e.toString()); // training goes on without them
        }
    }

    private Optional<String> tryOut() {
        try (NDManager manager = NDManager.newBaseManager(Device.cpu(), "PyTorch")) {
            NDArray weight = manager.ones(new Shape(1));
            weight.setRequiresGradient(true);
            try (Registration registration = hooks.onGradient(weight, () -> accumulations++)) {
                autograd.withGradMode(true, () -> runBackward(weight));
                registration.rethrow();
            }
            return judge(weight.getGradient().getFloat());
        }
    }

    private void runBackward(NDArray weight) {
        // an array, since DJL lets go of a number that it multiplies by before backward needs it
        NDArray product = weight.mul(weight.getManager().full(weight.getShape(), FACTOR));
        hooks.changeGradient(
                product,
                gradient -> {
                    changes++;
                    gradient.set(ValueLayout.JAVA_FLOAT, 0, CHANGED);
                });
        autograd.backward(PyTorchAccess.handle(product.sum()));
    }

    private Optional<String> judge(float gradient) {
        if (accumulations != 1 || changes != 1) {
            return Optional.of(
                    "one backward called the hook of a parameter %d times and that of a result %d times"
                            .formatted(accumulations, changes));
        }
        return gradient == FACTOR * CHANGED
                ? Optional.empty()
                : Optional.of(
                        "a gradient became %s instead of %s".formatted(gradient, FACTOR * CHANGED));
    }
}
