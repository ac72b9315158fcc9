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

/// The state of DJL's optimizers, which is in private fields without accessors. All reflection on
/// optimizers is here.
///
/// | field                                      | is                                                  |
/// |--------------------------------------------|-----------------------------------------------------|
/// | `Map<String, Map<Device, NDArray>>`        | a slot: an array for each parameter, by DJL's id    |
/// | `Optimizer.updateCounts`, `.numUpdate`     | the number of updates, by parameter and in all      |
/// | a primitive number or boolean              | a setting: momentum, beta1, weight decay            |
/// | a `ParameterTracker`                       | settings too, if it is a class with such fields     |
///
/// All optimizers of DJL have this form, and other optimizers may follow it. A field of any other type
/// is rejected: if its state were not transferred, ranks would differ unnoticed. `transient` fields are
/// ignored.
final class OptimizerFields {
    private static final Type SLOT = genericType(SlotPattern.class, "slot");

    private final Optimizer optimizer;
    private final Map<String, Map<String, Map<Device, NDArray>>> slots = new LinkedHashMap<>();
    private final Map<String, Setting> settings = new LinkedHashMap<>();

    /// @throws ConfigurationException when the optimizer keeps state in another form
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
                    %s has a field '%s' of type %s, which Horovod4J does not support, so it cannot copy the state of \
                    this optimizer to other ranks or into a checkpoint.
                    Use a Map<String, Map<Device, NDArray>> by parameter id, as DJL's optimizers do, or make the \
                    field transient if ranks need not agree on it."""
                            .formatted(
                                    optimizer.getClass().getName(),
                                    field.getName(),
                                    field.getGenericType().getTypeName()));
        }
    }

    @SuppressWarnings("unchecked") // its generic type was checked
    private Map<String, Map<Device, NDArray>> slot(Field field) {
        Object map = get(makeAccessible(field), optimizer);
        if (map == null) {
            throw new ConfigurationException(
                    "%s has null in its field '%s', where a map for its state is expected"
                            .formatted(optimizer.getClass().getName(), field.getName()));
        }
        return (Map<String, Map<Device, NDArray>>) map;
    }

    /// Numeric fields of trackers are settings. Lambdas and records are skipped: their code is the same
    /// on all ranks, and their fields cannot be set.
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

    /// The slots by name. Their maps are those of the optimizer, by DJL's parameter ids.
    Map<String, Map<String, Map<Device, NDArray>>> slots() {
        return slots;
    }

    Map<String, Setting> settings() {
        return settings;
    }

    /// The counts of the optimizer, by DJL's parameter ids.
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
                    this release of DJL has no field '%s' in %s, which Horovod4J needs for the state of optimizers. \
                    Use DJL 0.35."""
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

    /// The declaration of a slot, for comparison.
    private static final class SlotPattern {
        @SuppressWarnings("unused") // read by reflection
        private @Nullable Map<String, Map<Device, NDArray>> slot;
    }

    /// A primitive field, as a number that can be exchanged and set again without loss.
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
