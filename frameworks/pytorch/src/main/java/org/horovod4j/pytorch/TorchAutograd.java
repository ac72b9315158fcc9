package org.horovod4j.pytorch;

import org.bytedeco.pytorch.Scalar;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch;
import org.horovod4j.libtorch.TorchHooks;
import org.horovod4j.option.HookChoice;
import org.jspecify.annotations.Nullable;

import java.util.EnumMap;
import java.util.Map;

/// The hooks of libtorch on gradients, tested once in a process.
final class TorchAutograd {
    private static final Map<HookChoice, TorchHooks> HOOKS = new EnumMap<>(HookChoice.class);
    private static final Map<HookChoice, String> REASONS = new EnumMap<>(HookChoice.class);

    private TorchAutograd() {}

    /// @throws UnsupportedOperationException when hooks cannot be used; its message is the reason
    static synchronized TorchHooks hooks(HookChoice choice) {
        String reason = REASONS.get(choice);
        if (reason != null) {
            throw new UnsupportedOperationException(reason);
        }
        TorchHooks known = HOOKS.get(choice);
        if (known != null) {
            return known;
        }
        try {
            TorchHooks hooks =
                    TorchHooks.open(
                            TorchLibrary.runtime(),
                            choice,
                            TorchLibrary.version(),
                            System.getProperty("os.name") + " " + System.getProperty("os.arch"),
                            TestNetwork::new);
            HOOKS.put(choice, hooks);
            return hooks;
        } catch (UnsupportedOperationException e) {
            REASONS.put(choice, String.valueOf(e.getMessage()));
            throw e;
        }
    }

    /// The network of the self-test.
    private static final class TestNetwork implements TorchHooks.TestNetwork {
        private final Tensor weight = torch.ones(1).set_requires_grad(true);
        private @Nullable Tensor product;
        private @Nullable Tensor sum;

        @Override
        public long weight() {
            return weight.address();
        }

        @Override
        public long multiply(float factor) {
            try (Scalar scalar = new Scalar(factor)) {
                Tensor result = weight.mul(scalar);
                product = result;
                return result.address();
            }
        }

        @Override
        public long sum() {
            Tensor factors = product;
            if (factors == null) {
                throw new IllegalStateException("sum() is called before multiply()");
            }
            Tensor result = factors.sum();
            sum = result;
            return result.address();
        }

        @Override
        public float gradient() {
            try (Tensor gradient = weight.grad()) {
                return gradient.item_float();
            }
        }

        @Override
        public void close() {
            for (Tensor each : new @Nullable Tensor[] {sum, product, weight}) {
                if (each != null) {
                    each.close();
                }
            }
        }
    }
}
