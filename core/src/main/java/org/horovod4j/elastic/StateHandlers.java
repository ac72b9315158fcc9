package org.horovod4j.elastic;

import org.horovod4j.Tensor;

import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;
import java.util.SequencedMap;

/// Chooses the state that keeps a value, by the type of the value. Adapters of frameworks add theirs:
///
/// ```java
/// StateHandlers handlers = StateHandlers.STANDARD.with(Model.class, (name, model) -> new ModelState(name, model));
/// ```
public final class StateHandlers {
    /// States keep themselves. A [TensorState] keeps tensors and arrays of numbers, which programs
    /// change in place.
    public static final StateHandlers STANDARD =
            new StateHandlers(new LinkedHashMap<>())
                    .with(State.class, (_, state) -> state)
                    .with(Tensor.class, StateHandlers::tensor)
                    .with(float[].class, (name, array) -> tensor(name, Tensor.of(array)))
                    .with(double[].class, (name, array) -> tensor(name, Tensor.of(array)))
                    .with(int[].class, (name, array) -> tensor(name, Tensor.of(array)))
                    .with(long[].class, (name, array) -> tensor(name, Tensor.of(array)));

    private final SequencedMap<Class<?>, Handler<?>> byType;

    private StateHandlers(SequencedMap<Class<?>, Handler<?>> byType) {
        this.byType = byType;
    }

    /// Makes the state that keeps a value.
    ///
    /// @param <T> the type of the value
    @FunctionalInterface
    public interface Handler<T> {
        /// The state of one value.
        ///
        /// @param name unique, and the same on every rank
        State stateOf(String name, T value);
    }

    /// These handlers and one more, which is tried before all others.
    public <T> StateHandlers with(Class<T> type, Handler<T> handler) {
        SequencedMap<Class<?>, Handler<?>> more = new LinkedHashMap<>(byType);
        more.putFirst(type, handler);
        return new StateHandlers(more);
    }

    /// The state that keeps `value`, if a handler supports its type.
    Optional<State> stateOf(String name, Object value) {
        for (Map.Entry<Class<?>, Handler<?>> each : byType.entrySet()) {
            if (each.getKey().isInstance(value)) {
                return Optional.of(stateOf(each.getKey(), each.getValue(), name, value));
            }
        }
        return Optional.empty();
    }

    @SuppressWarnings("unchecked") // the key is the type of the handler
    private static <T> State stateOf(Class<T> type, Handler<?> handler, String name, Object value) {
        return ((Handler<T>) handler).stateOf(name, type.cast(value));
    }

    private static State tensor(String name, Tensor tensor) {
        return new TensorState().with(name, tensor);
    }
}
