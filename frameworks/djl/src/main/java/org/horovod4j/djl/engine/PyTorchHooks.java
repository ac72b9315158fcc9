package org.horovod4j.djl.engine;

import ai.djl.Device;
import ai.djl.engine.Engine;
import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.Shape;

import org.horovod4j.libtorch.HookRegistration;
import org.horovod4j.libtorch.TorchHooks;
import org.horovod4j.libtorch.TorchRuntime;
import org.horovod4j.option.HookChoice;
import org.jspecify.annotations.Nullable;

import java.lang.foreign.MemorySegment;
import java.util.function.Consumer;

/// The hooks of libtorch on arrays of DJL.
final class PyTorchHooks implements BackwardHooks.Available {
    private final TorchHooks hooks;

    private PyTorchHooks(TorchHooks hooks) {
        this.hooks = hooks;
    }

    static BackwardHooks open(TorchRuntime torch, HookChoice choice) {
        String platform = System.getProperty("os.name") + " " + System.getProperty("os.arch");
        String version = Engine.getEngine(PyTorchAccess.ENGINE).getVersion();
        try {
            return new PyTorchHooks(
                    TorchHooks.open(torch, choice, version, platform, DjlTestNetwork::new));
        } catch (UnsupportedOperationException e) {
            return new Unavailable(String.valueOf(e.getMessage()));
        }
    }

    @Override
    public HookRegistration onGradient(NDArray parameter, Runnable hook) {
        requireGradient(parameter);
        return hooks.onGradient(PyTorchAccess.handle(parameter), hook);
    }

    @Override
    public void transformGradient(NDArray array, Consumer<MemorySegment> change) {
        requireGradient(array);
        hooks.transformGradient(PyTorchAccess.handle(array), DataTypes.byteSize(array), change);
    }

    @Override
    public boolean requiresGradient(NDArray array) {
        return hooks.requiresGradient(PyTorchAccess.handle(array));
    }

    private void requireGradient(NDArray array) {
        if (!requiresGradient(array)) {
            throw new IllegalArgumentException(
                    "a hook needs an array that requires a gradient; array %s of shape %s does not"
                            .formatted(array.getName(), array.getShape()));
        }
    }

    int transformCount() {
        return hooks.transformCount();
    }

    /// The network of the self-test, computed by DJL.
    private static final class DjlTestNetwork implements TorchHooks.TestNetwork {
        private final NDManager manager =
                NDManager.newBaseManager(Device.cpu(), PyTorchAccess.ENGINE);
        private final NDArray weight = manager.ones(new Shape(1));
        private @Nullable NDArray product;

        DjlTestNetwork() {
            weight.setRequiresGradient(true);
        }

        @Override
        public long weight() {
            return PyTorchAccess.handle(weight);
        }

        /// Multiplies by an array: DJL frees a number before backward reads it.
        @Override
        public long multiply(float factor) {
            NDArray result = weight.mul(manager.full(weight.getShape(), factor));
            product = result;
            return PyTorchAccess.handle(result);
        }

        @Override
        public long sum() {
            NDArray result = product;
            if (result == null) {
                throw new IllegalStateException("sum() is called before multiply()");
            }
            return PyTorchAccess.handle(result.sum());
        }

        @Override
        public float gradient() {
            return weight.getGradient().getFloat();
        }

        @Override
        public void close() {
            manager.close();
        }
    }
}
