package org.horovod4j.codec;

import org.jspecify.annotations.Nullable;

import java.lang.invoke.MethodType;
import java.lang.reflect.AccessibleObject;
import java.lang.reflect.Constructor;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.RecordComponent;
import java.util.Arrays;
import java.util.List;

/// A record class: reads the components of a record by its accessors, and makes records by the
/// canonical constructor.
record RecordType(Class<?> type, List<Component> components, Constructor<?> constructor)
        implements NamedType {
    /// A component of a record class.
    record Component(String name, Class<?> type, Method accessor) {
        boolean accepts(@Nullable Object value) {
            return value == null ? !type.isPrimitive() : boxed().isInstance(value);
        }

        /// Whether a value of the class `arrival` can be given to the constructor.
        boolean acceptsType(Class<?> arrival) {
            return boxed().isAssignableFrom(arrival);
        }

        private Class<?> boxed() {
            return MethodType.methodType(type).wrap().returnType();
        }

        @Nullable Object read(Object owner, ValuePath valuePath) {
            try {
                return accessor.invoke(owner);
            } catch (InvocationTargetException e) {
                throw failed("the accessor failed", valuePath, e);
            } catch (IllegalAccessException e) {
                throw new AssertionError("it was made accessible: " + accessor, e);
            }
        }
    }

    static RecordType of(Class<?> type, ValuePath valuePath) {
        try {
            List<Component> components =
                    Arrays.stream(type.getRecordComponents())
                            .map(component -> component(component, valuePath))
                            .toList();
            Constructor<?> canonical =
                    type.getDeclaredConstructor(
                            components.stream().map(Component::type).toArray(Class<?>[]::new));
            return new RecordType(type, components, accessible(canonical, type, valuePath));
        } catch (NoSuchMethodException | LinkageError e) {
            throw new CodecException(
                    """
                    the record %s, at %s, cannot be used: %s
                    Is a class missing from the class path of this rank?"""
                            .formatted(type.getName(), valuePath, e),
                    e);
        }
    }

    /// Makes a record of the values, which were checked against the components.
    Object create(@Nullable Object[] values, ValuePath valuePath) {
        try {
            return constructor.newInstance(values);
        } catch (InvocationTargetException e) {
            throw failed(
                    "the constructor of " + type.getName() + " rejected its values", valuePath, e);
        } catch (InstantiationException | IllegalAccessException | LinkageError e) {
            throw new CodecException(
                    "cannot make a %s at %s: %s".formatted(type.getName(), valuePath, e), e);
        }
    }

    private static Component component(RecordComponent component, ValuePath valuePath) {
        Method accessor =
                accessible(component.getAccessor(), component.getDeclaringRecord(), valuePath);
        return new Component(component.getName(), component.getType(), accessor);
    }

    /// Records need not be public: they are usually private parts of a training program.
    private static <A extends AccessibleObject> A accessible(
            A member, Class<?> type, ValuePath valuePath) {
        if (member.trySetAccessible()) {
            return member;
        }
        Module ours = ObjectCodec.class.getModule();
        throw new CodecException(
                """
                the record %1$s, at %2$s, is closed to Horovod4J by its module
                Add 'opens %3$s%4$s;' to the module-info of %5$s, \
                or start java with --add-opens %5$s/%3$s=%6$s."""
                        .formatted(
                                type.getName(),
                                valuePath,
                                type.getPackageName(),
                                ours.isNamed() ? " to " + ours.getName() : "",
                                type.getModule().getName(),
                                ours.isNamed() ? ours.getName() : "ALL-UNNAMED"));
    }

    /// What the code of the program threw. An [Error] is not wrapped.
    private static CodecException failed(
            String what, ValuePath valuePath, InvocationTargetException failure) {
        Throwable cause = failure.getCause();
        if (cause instanceof Error error) {
            throw error;
        }
        return new CodecException("%s at %s: %s".formatted(what, valuePath, cause), cause);
    }
}
