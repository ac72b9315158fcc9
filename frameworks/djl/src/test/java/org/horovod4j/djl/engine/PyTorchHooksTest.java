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

import org.horovod4j.libtorch.HookRegistration;
import org.horovod4j.option.HookChoice;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

import java.lang.foreign.ValueLayout;
import java.lang.ref.WeakReference;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.UnaryOperator;

class PyTorchHooksTest {
    private final NDManager manager = NDManager.newBaseManager("PyTorch");
    private final BackwardHooks.Available hooks =
            (BackwardHooks.Available) EngineAccess.of(manager).hooks(HookChoice.AUTO);

    @AfterEach
    void close() {
        manager.close();
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
        List<String> called = new ArrayList<>();
        List<HookRegistration> held = new ArrayList<>();
        for (Pair<String, Parameter> parameter : block.getParameters()) {
            parameter.getValue().getArray().setRequiresGradient(true);
            held.add(
                    hooks.onGradient(
                            parameter.getValue().getArray(),
                            () -> called.add(parameter.getKey().substring(0, 2))));
        }
        NDList input = new NDList(manager.ones(new Shape(5, 6)));

        for (int step = 0; step < 3; step++) {
            System.gc();
            called.clear();
            try (GradientCollector collector = manager.getEngine().newGradientCollector()) {
                ParameterStore store = new ParameterStore(manager, false);
                collector.backward(block.forward(store, input, true).singletonOrThrow().sum());
            }

            assertThat(called).containsExactly("05", "05", "03", "03", "01", "01");
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

    @Test
    void transformIsReleasedWithGraph() {
        int before = transformCount();
        try (NDManager step = manager.newSubManager();
                GradientCollector collector = manager.getEngine().newGradientCollector()) {
            NDArray doubled = times(weight(2), 2);
            doubled.attach(step);
            hooks.transformGradient(doubled, gradient -> {});
            assertThat(transformCount()).isEqualTo(before + 1);
            collector.backward(doubled.sum());
        }

        assertThat(transformCount()).isEqualTo(before);
    }

    private int transformCount() {
        return ((PyTorchHooks) hooks).transformCount();
    }

    @Test
    void arrayWithoutGradientIsRejected() {
        NDArray array = manager.ones(new Shape(2, 3));
        array.setName("input");

        assertThatIllegalArgumentException()
                .isThrownBy(() -> hooks.onGradient(array, () -> {}))
                .withMessage(
                        "a hook needs an array that requires a gradient; array input of shape (2, 3)"
                                + " does not");
        assertThatIllegalArgumentException()
                .isThrownBy(() -> hooks.transformGradient(array, gradient -> {}));
    }

    private NDArray weight(int length) {
        NDArray weight = manager.ones(new Shape(length));
        weight.setRequiresGradient(true);
        return weight;
    }

    /// Multiplies by an array: DJL frees a number before backward reads it.
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
