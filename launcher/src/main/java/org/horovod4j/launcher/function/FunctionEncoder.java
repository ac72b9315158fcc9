package org.horovod4j.launcher.function;

import org.horovod4j.ConfigurationException;
import org.horovod4j.RankAction;
import org.horovod4j.RankFunction;
import org.horovod4j.codec.CodecException;
import org.horovod4j.codec.ObjectCodec;
import org.jspecify.annotations.Nullable;

import java.io.Serializable;
import java.lang.invoke.MethodHandleInfo;
import java.lang.invoke.SerializedLambda;
import java.lang.reflect.Field;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.util.ArrayList;
import java.util.List;

/// Learns what a function of this program consists of, and refuses what a rank could not make of
/// it, before anything is started.
public final class FunctionEncoder {
    private static final String REMEDY =
            """
            Let it use values that may travel; or refer to a static method, as in Train::run; or \
            make the function a record whose components are such values.""";

    private final Serializable function;
    private final ClassLoader loader;
    private final FunctionReference reference;

    private FunctionEncoder(Serializable function) {
        this.function = function;
        ClassLoader own = function.getClass().getClassLoader();
        this.loader = own == null ? ClassLoader.getSystemClassLoader() : own;
        this.reference = reference();
    }

    /// Reads a [RankFunction] or a [RankAction], and does what a rank will do with it up to the
    /// call, so that what fails there fails here.
    ///
    /// @throws ConfigurationException when it cannot travel
    public static FunctionEncoder of(Serializable function) {
        FunctionEncoder reader = new FunctionEncoder(function);
        if (reader.codec().decode(reader.encoded()) instanceof FunctionReference arrived) {
            ResolvedFunction _ = arrived.resolve(reader.loader);
        }
        return reader;
    }

    /// Reads and writes what the classes of the function's program describe.
    public ObjectCodec codec() {
        return new ObjectCodec(loader);
    }

    /// Checks that processes with this JVM's own class path have the function's class.
    ///
    /// @throws ConfigurationException when the class lives in this JVM alone, as those of `jshell`
    ///     do, or in a class loader of its own
    public void checkClassPath() {
        String name = className();
        if (ClassLoader.getSystemResource(name.replace('.', '/') + ".class") == null) {
            throw new ConfigurationException(
                    """
                    the function's class %s is not on the class path of this JVM, so that other \
                    processes cannot load it
                    A class typed into jshell, or run from a source file, must be compiled first; \
                    for one of another class loader, name its files with classPath(…)."""
                            .formatted(name));
        }
    }

    /// What travels.
    ///
    /// @throws ConfigurationException when it holds something that may not
    byte[] encoded() {
        try {
            return codec().encode(reference);
        } catch (CodecException e) {
            throw new ConfigurationException(
                    "the function of %s %s\n%s\n%s"
                            .formatted(className(), captureProblem(), e.getMessage(), REMEDY),
                    e);
        }
    }

    private String className() {
        return switch (reference) {
            case FunctionReference.Method method -> method.owner();
            case FunctionReference.Value(Object value) -> value.getClass().getName();
            case FunctionReference.Instance(String className) -> className;
        };
    }

    private String captureProblem() {
        return reference instanceof FunctionReference.Method method && capturesThis(method)
                ? "uses 'this', the object that it was written in:"
                : "holds something that cannot be sent to the ranks:";
    }

    /// Whether it calls a method of an object that is not a record: a record travels.
    private static boolean capturesThis(FunctionReference.Method method) {
        if (method.kind() == MethodHandleInfo.REF_invokeStatic || method.captured().isEmpty()) {
            return false;
        }
        Object first = method.captured().getFirst();
        return first != null
                && first.getClass().getName().equals(method.owner())
                && !first.getClass().isRecord();
    }

    private FunctionReference reference() {
        Class<?> type = function.getClass();
        if (type.isHidden()) {
            return lambda(type);
        }
        if (function instanceof Record || function instanceof Enum<?>) {
            return new FunctionReference.Value(function);
        }
        checkHasNoState(type);
        return new FunctionReference.Instance(type.getName());
    }

    /// The class of a lambda that is serializable has a method which describes it; Java would call
    /// that to serialise the lambda.
    private static Method description(Class<?> type) {
        try {
            Method description = type.getDeclaredMethod("writeReplace");
            if (!description.trySetAccessible()) {
                throw ModuleAccess.notOpen(type);
            }
            return description;
        } catch (NoSuchMethodException e) {
            throw new ConfigurationException(
                    "the function is a %s, which ranks cannot find by name. %s"
                            .formatted(type.getName(), REMEDY),
                    e);
        }
    }

    private FunctionReference lambda(Class<?> type) {
        try {
            SerializedLambda lambda = (SerializedLambda) description(type).invoke(function);
            List<@Nullable Object> captured = new ArrayList<>();
            for (int i = 0; i < lambda.getCapturedArgCount(); i++) {
                captured.add(lambda.getCapturedArg(i));
            }
            return new FunctionReference.Method(
                    lambda.getImplClass().replace('/', '.'),
                    lambda.getImplMethodName(),
                    lambda.getImplMethodSignature(),
                    lambda.getImplMethodKind(),
                    captured);
        } catch (ReflectiveOperationException e) {
            throw new IllegalStateException("a lambda does not describe itself: " + type, e);
        }
    }

    /// An object that is made anew on each rank has forgotten what was in its fields.
    private static void checkHasNoState(Class<?> type) {
        if (type.isAnonymousClass() || type.isLocalClass()) {
            throw new ConfigurationException(
                    "the function is an object of the class %s, which is local to a method. %s"
                            .formatted(type.getName(), REMEDY));
        }
        for (Class<?> each = type; each != null; each = each.getSuperclass()) {
            for (Field field : each.getDeclaredFields()) {
                if (!Modifier.isStatic(field.getModifiers())) {
                    throw new ConfigurationException(
                            "the function is a %s, whose field '%s' would not reach the ranks. %s"
                                    .formatted(type.getName(), field.getName(), REMEDY));
                }
            }
        }
    }
}
