package org.horovod4j.djl;

import ai.djl.Device;
import ai.djl.ndarray.NDArray;
import ai.djl.training.optimizer.Optimizer;
import ai.djl.training.tracker.ParameterTracker;

import org.horovod4j.ConfigurationException;
import org.jspecify.annotations.Nullable;

import java.lang.reflect.Field;
import java.lang.reflect.InaccessibleObjectException;
import java.lang.reflect.Modifier;
import java.lang.reflect.ParameterizedType;
import java.lang.reflect.Type;
import java.util.LinkedHashMap;
import java.util.Map;

/// Where DJL's optimizers keep what they know: private fields, for which there are no accessors.
/// All reflection on optimizers is here.
///
/// | field                                      | is                                                  |
/// |--------------------------------------------|-----------------------------------------------------|
/// | `Map<String, Map<Device, NDArray>>`        | a slot: an array for each parameter, by DJL's id    |
/// | `Optimizer.updateCounts`, `.numUpdate`     | how often each parameter, and any, was updated      |
/// | a primitive number or boolean              | a setting: momentum, beta1, weight decay            |
/// | a `ParameterTracker`                       | settings too, if it is a class with such fields     |
///
/// This is the form of all optimizers of DJL, and any other optimizer may follow it. A field of any
/// other type is refused: state that stayed behind would make ranks differ without anybody
/// noticing. `transient` fields are left alone.
final class OptimizerFields {
    private static final Type SLOT = genericType(SlotPattern.class, "slot");

    private final Optimizer optimizer;
    private final Map<String, Map<String, Map<Device, NDArray>>> slots = new LinkedHashMap<>();
    private final Map<String, Setting> settings = new LinkedHashMap<>();

    /// @throws ConfigurationException when the optimizer keeps state in a form that is not known
    OptimizerFields(Optimizer optimizer) {
        this.optimizer = optimizer;
        for (Class<?> type = optimizer.getClass();
                type != null && type != Optimizer.class;
                type = type.getSuperclass()) {
            for (Field field : type.getDeclaredFields()) {
                classify(field);
            }
        }
        for (String name : new String[] {"rescaleGrad", "clipGrad", "weightDecays"}) {
            settings.put(name, new Setting(optimizer, field(Optimizer.class, name)));
        }
    }

    private void classify(Field field) {
        if (Modifier.isStatic(field.getModifiers()) || Modifier.isTransient(field.getModifiers())) {
            return;
        }
        if (field.getGenericType().equals(SLOT)) {
            slots.put(field.getName(), slot(field));
        } else if (field.getType().isPrimitive()) {
            settings.put(field.getName(), new Setting(optimizer, makeAccessible(field)));
        } else if (ParameterTracker.class.isAssignableFrom(field.getType())) {
            addTracker(field.getName(), get(makeAccessible(field), optimizer));
        } else {
            throw new ConfigurationException(
                    """
                    %s keeps something in its field '%s' of type %s, which Horovod4J does not understand, \
                    so it cannot bring the state of this optimizer to other ranks or into a checkpoint.
                    Keep it in a Map<String, Map<Device, NDArray>> by parameter id, as DJL's optimizers do, \
                    or make the field transient if ranks need not agree on it."""
                            .formatted(
                                    optimizer.getClass().getName(),
                                    field.getName(),
                                    field.getGenericType().getTypeName()));
        }
    }

    @SuppressWarnings("unchecked") // its generic type has been compared
    private Map<String, Map<Device, NDArray>> slot(Field field) {
        Object map = get(makeAccessible(field), optimizer);
        if (map == null) {
            throw new ConfigurationException(
                    "%s has null in its field '%s', where a map for its state is expected"
                            .formatted(optimizer.getClass().getName(), field.getName()));
        }
        return (Map<String, Map<Device, NDArray>>) map;
    }

    /// Trackers are settings as far as they are plain objects with numbers. Lambdas and records say
    /// what they do by their code, which is the same on all ranks, and their fields cannot be set.
    private void addTracker(String path, @Nullable Object tracker) {
        if (tracker == null || tracker.getClass().isHidden() || tracker.getClass().isRecord()) {
            return;
        }
        for (Field field : tracker.getClass().getDeclaredFields()) {
            int modifiers = field.getModifiers();
            if (Modifier.isStatic(modifiers) || Modifier.isFinal(modifiers)) {
                continue;
            }
            String name = path + "." + field.getName();
            if (field.getType().isPrimitive()) {
                settings.put(name, new Setting(tracker, makeAccessible(field)));
            } else if (ParameterTracker.class.isAssignableFrom(field.getType())) {
                addTracker(name, get(makeAccessible(field), tracker));
            }
        }
    }

    /// The slots by name; the maps in them are the optimizer's own, by DJL's parameter ids.
    Map<String, Map<String, Map<Device, NDArray>>> slots() {
        return slots;
    }

    Map<String, Setting> settings() {
        return settings;
    }

    /// The optimizer's own counts, by DJL's parameter ids.
    @SuppressWarnings("unchecked") // so declared in Optimizer
    Map<String, Integer> updateCounts() {
        Object counts = get(field(Optimizer.class, "updateCounts"), optimizer);
        if (counts == null) {
            throw new IllegalStateException("Optimizer.updateCounts is null");
        }
        return (Map<String, Integer>) counts;
    }

    int updates() {
        return (int) new Setting(optimizer, field(Optimizer.class, "numUpdate")).value();
    }

    void setUpdates(int updates) {
        new Setting(optimizer, field(Optimizer.class, "numUpdate")).set(updates);
    }

    private static Field field(Class<?> type, String name) {
        try {
            return makeAccessible(type.getDeclaredField(name));
        } catch (NoSuchFieldException e) {
            throw new ConfigurationException(
                    """
                    this release of DJL has no field '%s' in %s, where Horovod4J looks for the state of \
                    optimizers. Use DJL 0.35."""
                            .formatted(name, type.getName()),
                    e);
        }
    }

    private static Field makeAccessible(Field field) {
        try {
            field.setAccessible(true);
            return field;
        } catch (InaccessibleObjectException e) {
            Class<?> owner = field.getDeclaringClass();
            throw new ConfigurationException(
                    """
                    the state of optimizers is in private fields, which module %s does not open. Start Java \
                    with --add-opens %s/%s=%s."""
                            .formatted(
                                    owner.getModule().getName(),
                                    owner.getModule().getName(),
                                    owner.getPackageName(),
                                    OptimizerFields.class.getModule().isNamed()
                                            ? OptimizerFields.class.getModule().getName()
                                            : "ALL-UNNAMED"),
                    e);
        }
    }

    private static @Nullable Object get(Field field, Object owner) {
        try {
            return field.get(owner);
        } catch (IllegalAccessException e) {
            throw new IllegalStateException("%s was made accessible".formatted(field), e);
        }
    }

    private static Type genericType(Class<?> type, String name) {
        try {
            return (ParameterizedType) type.getDeclaredField(name).getGenericType();
        } catch (NoSuchFieldException e) {
            throw new AssertionError(e);
        }
    }

    /// A slot as it is declared, to compare fields with.
    private static final class SlotPattern {
        @SuppressWarnings("unused") // read by reflection
        private @Nullable Map<String, Map<Device, NDArray>> slot;
    }

    /// A primitive field, as a number that can travel and be set again without loss.
    record Setting(Object owner, Field field) {
        double value() {
            Object value = get(field, owner);
            return switch (value) {
                case Float number -> number;
                case Integer number -> number;
                case Double number -> number;
                case Long number -> number;
                case Boolean flag -> flag ? 1 : 0;
                case null, default ->
                        throw new ConfigurationException(
                                "%s is neither a number nor a boolean".formatted(field));
            };
        }

        void set(double value) {
            try {
                switch (field.getType().getName()) {
                    case "float" -> field.setFloat(owner, (float) value);
                    case "int" -> field.setInt(owner, (int) value);
                    case "double" -> field.setDouble(owner, value);
                    case "long" -> field.setLong(owner, (long) value);
                    case "boolean" -> field.setBoolean(owner, value != 0);
                    default ->
                            throw new ConfigurationException(
                                    "%s is neither a number nor a boolean".formatted(field));
                }
            } catch (IllegalAccessException e) {
                throw new ConfigurationException(
                        "%s is final, so the root rank's value cannot be set".formatted(field), e);
            }
        }
    }
}
