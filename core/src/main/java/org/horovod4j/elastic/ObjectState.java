package org.horovod4j.elastic;

import org.horovod4j.Communicator;
import org.horovod4j.codec.CodecException;
import org.horovod4j.codec.ObjectCodec;
import org.jspecify.annotations.Nullable;

import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.SequencedMap;
import java.util.TreeMap;

/// Named values: counters and other small values, and the types that the [StateHandlers] support.
///
/// ```java
/// ObjectState state = new ObjectState().with("weights", weights).with("step", 0);
/// …
/// state.set("step", state.getInt("step") + 1);
/// ```
///
/// Values may be all that [Communicator#broadcastObject] sends. They are kept as bytes: to change
/// an object after `set` or `get` changes neither the state nor a commit.
public class ObjectState extends State {
    private static final String SYNC = "elastic: values";

    private final StateHandlers stateHandlers;
    private final ObjectCodec codec = new ObjectCodec();
    private final SequencedMap<String, State> handled = new LinkedHashMap<>();
    private Map<String, byte[]> values = new TreeMap<>();
    private Map<String, byte[]> committed = Map.of();

    public ObjectState() {
        this(StateHandlers.STANDARD);
    }

    /// A state without values.
    ///
    /// @param stateHandlers for values that change in place, such as arrays and models
    public ObjectState(StateHandlers stateHandlers) {
        this.stateHandlers = stateHandlers;
    }

    /// Adds a value, on every rank in the same order.
    ///
    /// @throws CodecException when no handler supports its type, and it cannot be encoded
    /// @throws IllegalArgumentException when the state has a value of this name
    public final ObjectState with(String name, @Nullable Object value) {
        if (handled.containsKey(name) || values.containsKey(name)) {
            throw new IllegalArgumentException(
                    "the state has a value '%s' already".formatted(name));
        }
        if (value == null) {
            values.put(name, codec.encode(null));
            return this;
        }
        stateHandlers
                .stateOf(name, value)
                .ifPresentOrElse(
                        state -> handled.put(name, state),
                        () -> values.put(name, codec.encode(value)));
        return this;
    }

    /// Changes a value.
    ///
    /// @throws IllegalArgumentException when the state has no value of this name, or a handler
    ///     keeps it
    /// @throws CodecException when it cannot be encoded
    public final void set(String name, @Nullable Object value) {
        check(name);
        values.put(name, codec.encode(value));
    }

    /// A copy of a value; lists, sets and maps cannot be changed.
    ///
    /// @throws IllegalArgumentException when the state has no value of this name, or its type
    ///     differs
    public final <T> T get(String name, Class<T> type) {
        Object value = codec.decode(check(name));
        if (!type.isInstance(value)) {
            throw new IllegalArgumentException(
                    "value '%s' of the state is %s, not a %s"
                            .formatted(
                                    name,
                                    value == null ? "null" : "a " + value.getClass().getName(),
                                    type.getName()));
        }
        return type.cast(value);
    }

    public final int getInt(String name) {
        return get(name, Integer.class);
    }

    public final long getLong(String name) {
        return get(name, Long.class);
    }

    public final double getDouble(String name) {
        return get(name, Double.class);
    }

    private byte[] check(String name) {
        byte[] value = values.get(name);
        if (value == null) {
            throw new IllegalArgumentException(
                    handled.containsKey(name)
                            ? "value '%s' of the state is kept by a handler: change it in place"
                                    .formatted(name)
                            : "the state has no value '%s', only %s"
                                    .formatted(name, values.keySet()));
        }
        return value;
    }

    @Override
    protected Collection<State> parts() {
        return handled.values();
    }

    @Override
    protected void save() {
        handled.values().forEach(State::save);
        committed = Map.copyOf(values); // the bytes are never changed
    }

    @Override
    public void restore() {
        awaitCommit(); // before any part is restored: a failure must not leave a mixture
        handled.values().forEach(State::restore);
        values = new TreeMap<>(committed);
    }

    @Override
    public void sync(Communicator communicator, int rootRank) {
        handled.values().forEach(state -> state.sync(communicator, rootRank));
        values = new TreeMap<>(communicator.broadcastObject(SYNC, values, rootRank));
    }

    /// Waits for all parts, even if one fails: the memory that the others read must not be freed.
    @Override
    public void awaitCommit() {
        RuntimeException failure = null;
        for (State part : handled.values()) {
            try {
                part.awaitCommit();
            } catch (RuntimeException e) {
                if (failure == null) {
                    failure = e;
                } else {
                    failure.addSuppressed(e);
                }
            }
        }
        if (failure != null) {
            throw failure;
        }
    }
}
