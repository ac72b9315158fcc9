package org.horovod4j.launcher.function;

import org.horovod4j.ConfigurationException;
import org.horovod4j.RankAction;
import org.horovod4j.RankFunction;
import org.horovod4j.WorkerFunction;
import org.horovod4j.codec.CodecException;
import org.horovod4j.codec.ObjectCodec;
import org.horovod4j.launcher.function.FunctionResolver.ResolvedFunction;
import org.jspecify.annotations.Nullable;

import java.io.Serializable;
import java.lang.invoke.MethodHandleInfo;
import java.lang.invoke.SerializedLambda;
import java.lang.reflect.Field;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.util.ArrayList;
import java.util.List;

/// Encodes a function of this program, and refuses what a rank could not decode, before any process
/// starts.
public final class FunctionEncoder {
    private static final String REMEDY =
            """
            Use only values that can be sent; or refer to a static method, as in Train::run; or \
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

    /// Encodes a [RankFunction], a [RankAction] or a [WorkerFunction], then decodes and resolves it as a rank would. So
    /// what would fail on a rank fails here.
    ///
    /// @throws ConfigurationException when it cannot be sent
    public static FunctionEncoder of(Serializable function) {
        FunctionEncoder reader = new FunctionEncoder(function);
        if (reader.codec().decode(reader.encoded()) instanceof FunctionReference arrived) {
            ResolvedFunction _ = arrived.resolve(reader.loader);
        }
        return reader;
    }

    /// Loads the classes of the function's program.
    public ClassLoader loader() {
        return loader;
    }

    /// A codec that knows the classes of the function's program.
    public ObjectCodec codec() {
        return new ObjectCodec(loader);
    }

    /// Checks that processes with this JVM's class path have the function's class.
    ///
    /// @throws ConfigurationException when the class exists only in this JVM, as those of `jshell`
    ///     do, or belongs to another class loader
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

    /// The bytes to send.
    ///
    /// @throws ConfigurationException when the function holds a value that cannot be sent
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

    /// Whether it calls a method of an object that is not a record: records can be sent.
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

    /// The class of a serializable lambda has a method that describes the lambda. Java
    /// serialization calls it too.
    private static Method description(Class<?> type) {
        try {
            Method description = type.getDeclaredMethod("writeReplace");
            if (!description.trySetAccessible()) {
                throw FunctionResolver.notOpen(type);
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

    /// An object that each rank creates by its constructor would lose the values of its fields.
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
