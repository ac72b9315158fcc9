package org.horovod4j.libtorch;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;
import static org.assertj.core.api.Assertions.assertThatNoException;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.Shape;
import ai.djl.training.GradientCollector;
import ai.djl.util.NativeResource;

import org.horovod4j.option.HookChoice;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

import java.lang.foreign.ValueLayout;
import java.util.ArrayList;
import java.util.List;

/// The hooks with DJL as the binding that loads libtorch and computes.
class TorchHooksTest {
    private static final String LINUX = "Linux amd64";

    private final NDManager manager = NDManager.newBaseManager("PyTorch");
    private final TorchRuntime torch = TorchRuntime.open("libtorch_cpu.so");

    @AfterEach
    void close() {
        manager.close();
    }

    @Test
    void libraryThatIsNotLoadedIsReported() {
        assertThatExceptionOfType(UnsupportedOperationException.class)
                .isThrownBy(() -> TorchRuntime.open("/nowhere/libtorch_cpu.so"))
                .withMessage("/nowhere/libtorch_cpu.so cannot be opened");
    }

    @Test
    void hookIsCalledAfterEachBackward() {
        TorchHooks hooks = open(HookChoice.AUTO, "2.7.1", LINUX);
        NDArray weight = weight(2);
        List<Float> seen = new ArrayList<>();

        try (HookRegistration registration =
                hooks.onGradient(handle(weight), () -> seen.add(gradient(weight)))) {
            backward(weight);
            backward(weight);
            registration.rethrow();
        }
        backward(weight);

        assertThat(seen).containsExactly(1f, 2f);
    }

    @Test
    void optionOffDisablesHooks() {
        assertUnsupported(
                HookChoice.OFF, "2.7.1", LINUX, "HOROVOD_GRADIENT_HOOKS switches them off");
    }

    @Test
    void unknownVersionIsTestedOnlyWhenForcedOn() {
        assertUnsupported(
                HookChoice.AUTO,
                "9.9.9",
                LINUX,
                "they are tested with libtorch 2.7.1, 2.10.0, not with 9.9.9; HOROVOD_GRADIENT_HOOKS=on uses"
                        + " them with any version");
        assertThatNoException().isThrownBy(() -> open(HookChoice.ON, "9.9.9", LINUX));
    }

    @Test
    void otherPlatformHasNoHooks() {
        assertUnsupported(
                HookChoice.ON,
                "2.7.1",
                "Windows 11 aarch64",
                "they need Linux amd64, but this is Windows 11 aarch64");
    }

    @Test
    void selfTestRunsInsideGradientCollector() {
        try (GradientCollector collector = manager.getEngine().newGradientCollector()) {
            assertThat(collector).isNotNull();
            assertThatNoException().isThrownBy(() -> open(HookChoice.AUTO, "2.7.1", LINUX));
        }
    }

    @Test
    void failedSelfTestIsReported() {
        assertThatExceptionOfType(UnsupportedOperationException.class)
                .isThrownBy(
                        () ->
                                TorchHooks.open(
                                        torch,
                                        HookChoice.AUTO,
                                        "2.7.1",
                                        LINUX,
                                        () -> {
                                            throw new UnsatisfiedLinkError("no symbol add_hook");
                                        }))
                .withMessageContaining("their self-test failed")
                .withMessageContaining("no symbol add_hook");
        assertThatExceptionOfType(UnsupportedOperationException.class)
                .isThrownBy(
                        () ->
                                TorchHooks.open(
                                        torch,
                                        HookChoice.AUTO,
                                        "2.7.1",
                                        LINUX,
                                        () -> new TestNetwork(weight(1), 14)))
                .withMessage("their self-test failed: a gradient is 14.0 instead of 15.0");
    }

    /// Ranks may apply a transform together. So it runs on this rank too, on NaN.
    @Test
    void uncopyableGradientBecomesNan() {
        TorchHooks hooks = open(HookChoice.AUTO, "2.7.1", LINUX);
        NDArray weight = weight(3);
        List<Float> changed = new ArrayList<>();
        try (GradientCollector collector = manager.getEngine().newGradientCollector()) {
            NDArray doubled = weight.mul(manager.full(weight.getShape(), 2));
            hooks.transformGradient(
                    handle(doubled),
                    2 * Float.BYTES, // of three
                    gradient -> {
                        for (float element : gradient.toArray(ValueLayout.JAVA_FLOAT)) {
                            changed.add(element);
                        }
                        gradient.fill((byte) 0);
                    });
            collector.backward(doubled.sum());
        }

        assertThat(changed).containsExactly(Float.NaN, Float.NaN);
        assertThat(weight.getGradient().toFloatArray()).containsOnly(Float.NaN);
        assertThatIllegalStateException()
                .isThrownBy(torch.deferredFailures()::rethrow)
                .withMessage(
                        """
                        backward computed a gradient of 12 bytes for an array of 8 bytes, so it cannot be changed
                        Let the computation keep the array's shape and data type.""");
    }

    private void assertUnsupported(
            HookChoice choice, String version, String platform, String reason) {
        assertThatExceptionOfType(UnsupportedOperationException.class)
                .isThrownBy(() -> open(choice, version, platform))
                .withMessage(reason);
    }

    private TorchHooks open(HookChoice choice, String version, String platform) {
        return TorchHooks.open(
                torch, choice, version, platform, () -> new TestNetwork(weight(1), Float.NaN));
    }

    private NDArray weight(int length) {
        NDArray weight = manager.ones(new Shape(length));
        weight.setRequiresGradient(true);
        return weight;
    }

    private void backward(NDArray weight) {
        try (GradientCollector collector = manager.getEngine().newGradientCollector()) {
            collector.backward(weight.sum());
        }
    }

    private static float gradient(NDArray weight) {
        try (NDArray gradient = weight.getGradient()) {
            return gradient.getFloat(0);
        }
    }

    private static long handle(NDArray array) {
        return (Long) ((NativeResource<?>) array).getHandle();
    }

    private static final class TestNetwork implements TorchHooks.TestNetwork {
        private final NDArray weight;
        private final float wrongGradient;
        private NDArray product;

        /// @param wrongGradient reported instead of the gradient, unless it is NaN
        TestNetwork(NDArray weight, float wrongGradient) {
            this.weight = weight;
            this.wrongGradient = wrongGradient;
            this.product = weight;
        }

        @Override
        public long weight() {
            return handle(weight);
        }

        @Override
        public long multiply(float factor) {
            product = weight.mul(weight.getManager().full(weight.getShape(), factor));
            return handle(product);
        }

        @Override
        public long sum() {
            return handle(product.sum());
        }

        @Override
        public float gradient() {
            return Float.isNaN(wrongGradient) ? TorchHooksTest.gradient(weight) : wrongGradient;
        }

        @Override
        public void close() {
            weight.close();
        }
    }
}
