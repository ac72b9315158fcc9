package org.horovod4j.launcher.function;

import static java.util.Objects.requireNonNull;

import org.horovod4j.Communicator;
import org.horovod4j.ConfigurationException;
import org.horovod4j.RankAction;
import org.horovod4j.RankFunction;
import org.horovod4j.WorkerFunction;
import org.jspecify.annotations.Nullable;

import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandleInfo;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodHandles.Lookup;
import java.lang.invoke.MethodType;
import java.lang.reflect.Constructor;
import java.lang.reflect.InvocationTargetException;
import java.util.List;
import java.util.Map;
import java.util.Set;

/// Finds the method or object of a [FunctionReference] among the classes of this process.
record FunctionResolver(ClassLoader loader) {
    private static final MethodType CALL = MethodType.methodType(Object.class, Communicator.class);

    /// A function that was found and can be called.
    @FunctionalInterface
    interface ResolvedFunction {
        /// Calls the function with the communicator of the rank; null for a [WorkerFunction].
        @Nullable Object apply(@Nullable Communicator communicator) throws Throwable;
    }

    ResolvedFunction method(FunctionReference.Method reference) {
        Class<?> owner = find(reference.owner());
        MethodHandle bound = bind(reference, handle(reference, owner));
        MethodHandle method =
                (bound.type().parameterCount() == 0 // a WorkerFunction
                                ? MethodHandles.dropArguments(bound, 0, Communicator.class)
                                : bound)
                        .asType(CALL);
        return communicator -> method.invokeExact(communicator);
    }

    ResolvedFunction instance(String className) {
        Class<?> type = find(className);
        try {
            Constructor<?> constructor = type.getDeclaredConstructor();
            if (!constructor.trySetAccessible()) {
                throw notOpen(type);
            }
            return object(constructor.newInstance());
        } catch (InvocationTargetException e) {
            throw new ConfigurationException(
                    "the constructor of the function's class %s failed: %s"
                            .formatted(className, e.getCause()),
                    e.getCause());
        } catch (ReflectiveOperationException e) {
            throw new ConfigurationException(
                    "the function's class %s has no constructor without parameters (%s). Add one,"
                                    .formatted(className, e)
                            + " or make the class a record.",
                    e);
        }
    }

    ResolvedFunction object(Object function) {
        return switch (function) {
            case RankFunction<?> it -> communicator -> it.apply(requireNonNull(communicator));
            case RankAction it ->
                    communicator -> {
                        it.run(requireNonNull(communicator));
                        return null;
                    };
            case WorkerFunction<?> it -> _ -> it.call();
            default ->
                    throw new ConfigurationException(
                            "%s is not a RankFunction in this process: give all ranks the same class"
                                            .formatted(function.getClass().getName())
                                    + " path.");
        };
    }

    private Class<?> find(String name) {
        try {
            return Class.forName(name, false, loader);
        } catch (ClassNotFoundException | LinkageError e) {
            throw new ConfigurationException(
                    """
                    the function's class %s cannot be loaded: %s
                    Put it on the class path of the ranks, which is: %s"""
                            .formatted(name, e, System.getProperty("java.class.path")),
                    e);
        }
    }

    private MethodHandle handle(FunctionReference.Method reference, Class<?> owner) {
        try {
            MethodType type = MethodType.fromMethodDescriptorString(reference.descriptor(), loader);
            return find(lookup(owner), owner, reference, type).asFixedArity();
        } catch (NoSuchMethodException | TypeNotPresentException | LinkageError e) {
            throw new ConfigurationException(
                    """
                    the function %s.%s%s is not in this process: %s
                    Give all ranks the same class path, with the same versions."""
                            .formatted(
                                    owner.getName(), reference.name(), reference.descriptor(), e),
                    e);
        } catch (IllegalAccessException e) {
            throw notOpen(owner);
        }
    }

    private static MethodHandle find(
            Lookup lookup, Class<?> owner, FunctionReference.Method reference, MethodType type)
            throws NoSuchMethodException, IllegalAccessException {
        return switch (reference.kind()) {
            case MethodHandleInfo.REF_invokeStatic ->
                    lookup.findStatic(owner, reference.name(), type);
            case MethodHandleInfo.REF_newInvokeSpecial ->
                    lookup.findConstructor(owner, type.changeReturnType(void.class));
            // An instance method of any kind: the JVM calls the one of the object's class.
            default -> lookup.findVirtual(owner, reference.name(), type);
        };
    }

    private static MethodHandle bind(FunctionReference.Method reference, MethodHandle method) {
        List<@Nullable Object> captured = reference.captured();
        MethodType boxed = method.type().wrap();
        for (int i = 0; i < captured.size(); i++) {
            Object value = captured.get(i);
            Class<?> declared = boxed.parameterType(i);
            if (value != null && !declared.isInstance(value)) {
                throw new ConfigurationException(
                        """
                        the function has captured a %s, which is received as another kind of %s
                        Declare that variable as List, Set or Map."""
                                .formatted(declared.getName(), kind(value)));
            }
        }
        return MethodHandles.insertArguments(method, 0, captured.toArray());
    }

    private static String kind(Object value) {
        return switch (value) {
            case List<?> _ -> "list";
            case Set<?> _ -> "set";
            case Map<?, ?> _ -> "map";
            default -> value.getClass().getName();
        };
    }

    /// A lookup that includes private members of `owner`, such as the body of a lambda, unless its
    /// module forbids it.
    private static Lookup lookup(Class<?> owner) {
        // A private lookup needs a module that reads the owner's.
        FunctionResolver.class.getModule().addReads(owner.getModule());
        try {
            return MethodHandles.privateLookupIn(owner, MethodHandles.lookup());
        } catch (IllegalAccessException e) {
            // Enough for public methods, such as those of the JDK.
            return MethodHandles.publicLookup();
        }
    }

    /// The exception when a module does not open `type`. The remedy has no "to": records of that
    /// package, sent as results, must be open to another module of Horovod4J as well.
    static ConfigurationException notOpen(Class<?> type) {
        return new ConfigurationException(
                """
                the function of %s is closed to Horovod4J by its module
                Add 'opens %s;' to the module-info of %s."""
                        .formatted(
                                type.getName().replaceFirst("\\$\\$Lambda.*", ""),
                                type.getPackageName(),
                                type.getModule().getName()));
    }
}
