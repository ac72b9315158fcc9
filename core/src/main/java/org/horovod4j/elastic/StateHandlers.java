package org.horovod4j.elastic;

import org.horovod4j.Tensor;

import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;
import java.util.SequencedMap;

/// Which state keeps a value, by the value's type. Adapters of frameworks add theirs:
///
/// ```java
/// Handlers handlers = Handlers.STANDARD.with(Model.class, (name, model) -> new ModelState(name, model));
/// ```
public final class StateHandlers {
    /// States keep themselves; tensors and arrays of numbers, which programs change in place, are
    /// kept by a [TensorState].
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
        /// @param name the same on every rank, and no other's
        State stateOf(String name, T value);
    }

    /// These and one more, which comes before all others.
    public <T> StateHandlers with(Class<T> type, Handler<T> handler) {
        SequencedMap<Class<?>, Handler<?>> more = new LinkedHashMap<>(byType);
        more.putFirst(type, handler);
        return new StateHandlers(more);
    }

    /// The state that keeps `value`, if its type is known.
    Optional<State> stateOf(String name, Object value) {
        for (Map.Entry<Class<?>, Handler<?>> each : byType.entrySet()) {
            if (each.getKey().isInstance(value)) {
                return Optional.of(stateOf(each.getKey(), each.getValue(), name, value));
            }
        }
        return Optional.empty();
    }

    @SuppressWarnings("unchecked") // filed under its own type
    private static <T> State stateOf(Class<T> type, Handler<?> handler, String name, Object value) {
        return ((Handler<T>) handler).stateOf(name, type.cast(value));
    }

    private static State tensor(String name, Tensor tensor) {
        return new TensorState().with(name, tensor);
    }
}
