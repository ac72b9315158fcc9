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

/// A record class: how to take one apart by its accessors, and make one by its canonical
/// constructor.
record RecordType(Class<?> type, List<Component> components, Constructor<?> constructor)
        implements NamedType {
    /// A component of a record class.
    record Component(String name, Class<?> type, Method accessor) {
        boolean accepts(@Nullable Object value) {
            return value == null ? !type.isPrimitive() : boxed().isInstance(value);
        }

        /// Whether a value of the class `arrival` can be given to the constructor.
        boolean acceptsA(Class<?> arrival) {
            return boxed().isAssignableFrom(arrival);
        }

        private Class<?> boxed() {
            return MethodType.methodType(type).wrap().returnType();
        }

        @Nullable Object read(Object owner, Path path) {
            try {
                return accessor.invoke(owner);
            } catch (InvocationTargetException e) {
                throw failed("the accessor failed", path, e);
            } catch (IllegalAccessException e) {
                throw new AssertionError("it was made accessible: " + accessor, e);
            }
        }
    }

    static RecordType of(Class<?> type, Path path) {
        try {
            List<Component> components =
                    Arrays.stream(type.getRecordComponents())
                            .map(component -> component(component, path))
                            .toList();
            Constructor<?> canonical =
                    type.getDeclaredConstructor(
                            components.stream().map(Component::type).toArray(Class<?>[]::new));
            return new RecordType(type, components, accessible(canonical, type, path));
        } catch (NoSuchMethodException | LinkageError e) {
            throw new CodecException(
                    """
                    the record %s, at %s, cannot be used: %s
                    Is a class missing from the class path of this rank?"""
                            .formatted(type.getName(), path, e),
                    e);
        }
    }

    /// Makes a record of the values, which were checked against the components.
    Object create(@Nullable Object[] values, Path path) {
        try {
            return constructor.newInstance(values);
        } catch (InvocationTargetException e) {
            throw failed("the constructor of " + type.getName() + " refused its values", path, e);
        } catch (InstantiationException | IllegalAccessException | LinkageError e) {
            throw new CodecException(
                    "cannot make a %s at %s: %s".formatted(type.getName(), path, e), e);
        }
    }

    private static Component component(RecordComponent component, Path path) {
        Method accessor = accessible(component.getAccessor(), component.getDeclaringRecord(), path);
        return new Component(component.getName(), component.getType(), accessor);
    }

    /// Records need not be public: they are usually private parts of a training program.
    private static <A extends AccessibleObject> A accessible(A member, Class<?> type, Path path) {
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
                                path,
                                type.getPackageName(),
                                ours.isNamed() ? " to " + ours.getName() : "",
                                type.getModule().getName(),
                                ours.isNamed() ? ours.getName() : "ALL-UNNAMED"));
    }

    /// What a program's own code threw; an [Error] is not ours to wrap.
    private static CodecException failed(
            String what, Path path, InvocationTargetException failure) {
        Throwable cause = failure.getCause();
        if (cause instanceof Error error) {
            throw error;
        }
        return new CodecException("%s at %s: %s".formatted(what, path, cause), cause);
    }
}
