package org.horovod4j.djl.engine;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;
import static org.assertj.core.api.Assertions.assertThatNoException;
import static org.awaitility.Awaitility.await;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDList;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import ai.djl.nn.Activation;
import ai.djl.nn.Parameter;
import ai.djl.nn.SequentialBlock;
import ai.djl.nn.core.Linear;
import ai.djl.training.GradientCollector;
import ai.djl.training.ParameterStore;
import ai.djl.util.Pair;

import org.horovod4j.option.HookChoice;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.ref.WeakReference;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Consumer;
import java.util.function.UnaryOperator;

class TorchHooksTest {
    private final NDManager manager = NDManager.newBaseManager("PyTorch");
    private final BackwardHooks.Available hooks =
            (BackwardHooks.Available) EngineAccess.of(manager).hooks();

    @AfterEach
    void close() {
        manager.close();
    }

    @Test
    void failedSelfTestIsReported() {
        BackwardHooks.Available broken =
                new BackwardHooks.Available() {
                    @Override
                    public HookRegistration onGradient(NDArray parameter, Runnable hook) {
                        throw new UnsatisfiedLinkError("no symbol add_post_hook");
                    }

                    @Override
                    public boolean requiresGradient(NDArray array) {
                        return true;
                    }

                    @Override
                    public void transformGradient(NDArray array, Consumer<MemorySegment> change) {}
                };
        assertThat(new HooksSelfTest(TorchRuntime.find().autograd(), broken).failure())
                .hasValueSatisfying(
                        reason -> assertThat(reason).contains("no symbol add_post_hook"));
    }

    @Test
    void hooksRunOncePerParameterFromLastLayerToFirst() {
        SequentialBlock block =
                new SequentialBlock()
                        .add(Linear.builder().setUnits(4).build())
                        .add(Activation::relu)
                        .add(Linear.builder().setUnits(3).build())
                        .add(Activation::relu)
                        .add(Linear.builder().setUnits(2).build());
        block.initialize(manager, DataType.FLOAT32, new Shape(5, 6));
        List<String> told = new ArrayList<>();
        List<HookRegistration> held = new ArrayList<>();
        for (Pair<String, Parameter> parameter : block.getParameters()) {
            parameter.getValue().getArray().setRequiresGradient(true);
            held.add(
                    hooks.onGradient(
                            parameter.getValue().getArray(),
                            () -> told.add(parameter.getKey().substring(0, 2))));
        }
        NDList input = new NDList(manager.ones(new Shape(5, 6)));

        for (int step = 0; step < 3; step++) {
            System.gc();
            told.clear();
            try (GradientCollector collector = manager.getEngine().newGradientCollector()) {
                ParameterStore store = new ParameterStore(manager, false);
                collector.backward(block.forward(store, input, true).singletonOrThrow().sum());
            }

            assertThat(told).containsExactly("05", "05", "03", "03", "01", "01");
        }
        held.forEach(HookRegistration::rethrow);
        held.forEach(HookRegistration::close);
    }

    @Test
    void gradientIsCompleteInHook() {
        NDArray weight = weight(2);
        List<Float> seen = new ArrayList<>();
        try (HookRegistration hookRegistration =
                hooks.onGradient(weight, () -> seen.add(weight.getGradient().getFloat(0)))) {
            backward(weight, w -> times(w, 3).add(times(w, 4)));
            backward(weight, w -> times(w, 3));
            hookRegistration.rethrow();
        }
        backward(weight);

        assertThat(seen).containsExactly(7f, 10f);
    }

    @Test
    void registrationRethrowsHookExceptionOnce() {
        NDArray weight = weight(1);
        try (HookRegistration hookRegistration =
                hooks.onGradient(
                        weight,
                        () -> {
                            throw new IllegalStateException("no");
                        })) {
            backward(weight);
            backward(weight);

            assertThatIllegalStateException()
                    .isThrownBy(hookRegistration::rethrow)
                    .withMessage("no")
                    .satisfies(e -> assertThat(e.getSuppressed()).hasSize(1));
            assertThatNoException().isThrownBy(hookRegistration::rethrow);
        }
    }

    @Test
    void unreferencedHookIsRemoved() {
        NDArray weight = weight(1);
        AtomicInteger calls = new AtomicInteger();
        WeakReference<HookRegistration> registration =
                new WeakReference<>(hooks.onGradient(weight, calls::incrementAndGet));

        await().until(
                        () -> {
                            System.gc();
                            return registration.refersTo(null);
                        });
        backward(weight);

        assertThat(calls).hasValue(0);
    }

    @Test
    void newHookReplacesFirst() {
        NDArray weight = weight(1);
        List<String> calls = new ArrayList<>();
        try (HookRegistration first = hooks.onGradient(weight, () -> calls.add("first"));
                HookRegistration second = hooks.onGradient(weight, () -> calls.add("second"))) {
            backward(weight);

            first.rethrow();
            second.rethrow();
        }

        assertThat(calls).containsExactly("second");
    }

    @Test
    void backwardUsesTransformedGradient() {
        NDArray weight = weight(3);
        try (GradientCollector collector = manager.getEngine().newGradientCollector()) {
            NDArray doubled = times(weight, 2);
            hooks.transformGradient(
                    doubled,
                    gradient -> {
                        assertThat(gradient.toArray(ValueLayout.JAVA_FLOAT))
                                .containsExactly(1, 1, 1);
                        for (int i = 0; i < 3; i++) {
                            gradient.setAtIndex(ValueLayout.JAVA_FLOAT, i, 10 * i);
                        }
                    });
            collector.backward(doubled.sum());
        }

        assertThat(weight.getGradient().toFloatArray()).containsExactly(0, 20, 40);
    }

    @Test
    void failedTransformMakesGradientNan() {
        NDArray weight = weight(2);
        try (GradientCollector collector = manager.getEngine().newGradientCollector()) {
            NDArray doubled = times(weight, 2);
            hooks.transformGradient(
                    doubled,
                    gradient -> {
                        throw new IllegalStateException("peer lost");
                    });
            collector.backward(doubled.sum());
        }

        assertThat(weight.getGradient().toFloatArray()).containsOnly(Float.NaN);
        EngineAccess access = EngineAccess.of(manager);
        assertThatIllegalStateException().isThrownBy(access::rethrow).withMessage("peer lost");
        assertThatNoException().isThrownBy(access::rethrow);
    }

    /// Ranks make a change together, so it is made on this rank too, to something that is seen to
    /// be wrong.
    @Test
    void uncopyableGradientBecomesNan() {
        TorchRuntime torchRuntime = TorchRuntime.find();
        GradientTransforms functions =
                new GradientTransforms(
                        torchRuntime.tensors(),
                        new FunctionObjects(torchRuntime.library()),
                        torchRuntime.deferredFailures());
        NDArray weight = weight(3);
        List<Float> changed = new ArrayList<>();
        try (GradientCollector collector = manager.getEngine().newGradientCollector()) {
            NDArray doubled = times(weight, 2);
            functions.add(
                    PyTorchAccess.handle(doubled),
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
                .isThrownBy(torchRuntime.deferredFailures()::rethrow)
                .withMessage(
                        """
                        backward brought a gradient of 12 bytes for an array of 8, so it could not be changed
                        Let the computation keep the array's shape and data type.""");
    }

    @Test
    void transformIsReleasedWithGraph() {
        int before = functionCount();
        try (NDManager step = manager.newSubManager();
                GradientCollector collector = manager.getEngine().newGradientCollector()) {
            NDArray doubled = times(weight(2), 2);
            doubled.attach(step);
            hooks.transformGradient(doubled, gradient -> {});
            assertThat(functionCount()).isEqualTo(before + 1);
            collector.backward(doubled.sum());
        }

        assertThat(functionCount()).isEqualTo(before);
    }

    private int functionCount() {
        return ((TorchHooks) hooks).functionCount();
    }

    @Test
    void arrayWithoutGradientIsRejected() {
        NDArray array = manager.ones(new Shape(2, 3));
        array.setName("input");

        assertThatIllegalArgumentException()
                .isThrownBy(() -> hooks.onGradient(array, () -> {}))
                .withMessage(
                        "the array input of shape (2, 3) requires no gradient, so there is none to hear"
                                + " of");
        assertThatIllegalArgumentException()
                .isThrownBy(() -> hooks.transformGradient(array, gradient -> {}));
    }

    @Test
    void optionOffDisablesHooks() {
        assertThat(open(HookChoice.OFF, "2.7.1", "Linux amd64"))
                .isEqualTo(
                        new BackwardHooks.Unavailable("HOROVOD_GRADIENT_HOOKS switches them off"));
    }

    @Test
    void unknownVersionIsTestedOnlyWhenForcedOn() {
        assertThat(open(HookChoice.AUTO, "9.9.9", "Linux amd64"))
                .isEqualTo(
                        new BackwardHooks.Unavailable(
                                "they are not known to work with libtorch 9.9.9, but with 2.7.1;"
                                        + " HOROVOD_GRADIENT_HOOKS=on tries them"));
        assertThat(open(HookChoice.ON, "9.9.9", "Linux amd64"))
                .isInstanceOf(BackwardHooks.Available.class);
    }

    @Test
    void otherPlatformHasNoHooks() {
        assertThat(open(HookChoice.ON, "2.7.1", "Windows 11 aarch64"))
                .isEqualTo(
                        new BackwardHooks.Unavailable(
                                "they are made for Linux amd64, not for Windows 11 aarch64"));
    }

    @Test
    void selfTestRunsInsideGradientCollector() {
        try (GradientCollector collector = manager.getEngine().newGradientCollector()) {
            assertThat(collector).isNotNull();
            assertThat(open(HookChoice.AUTO, "2.7.1", "Linux amd64"))
                    .isInstanceOf(BackwardHooks.Available.class);
        }
    }

    private static BackwardHooks open(HookChoice choice, String version, String platform) {
        return TorchHooks.open(TorchRuntime.find(), choice, version, platform);
    }

    private NDArray weight(int length) {
        NDArray weight = manager.ones(new Shape(length));
        weight.setRequiresGradient(true);
        return weight;
    }

    /// By an array, since DJL lets go of a number that it multiplies by before backward needs it.
    private NDArray times(NDArray array, float factor) {
        return array.mul(manager.full(array.getShape(), factor));
    }

    private void backward(NDArray weight) {
        backward(weight, same -> same);
    }

    private void backward(NDArray weight, UnaryOperator<NDArray> loss) {
        try (GradientCollector collector = manager.getEngine().newGradientCollector()) {
            collector.backward(loss.apply(weight).sum());
        }
    }
}
