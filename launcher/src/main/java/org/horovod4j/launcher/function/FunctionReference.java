package org.horovod4j.launcher.function;

import org.horovod4j.ConfigurationException;
import org.horovod4j.launcher.function.FunctionResolver.ResolvedFunction;
import org.jspecify.annotations.Nullable;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;

/// What is sent of a function: names, and values that the codec encodes.
///
/// A reference is a record of values that `org.horovod4j.codec` encodes.
sealed interface FunctionReference {
    /// A lambda or method reference: the method it calls, and the values it passes before the
    /// communicator.
    ///
    /// @param owner the class that declares the method
    /// @param descriptor the method's parameters and result, as in class files
    /// @param kind one of the `REF_` constants of [java.lang.invoke.MethodHandleInfo]
    /// @param captured values of the variables that the lambda uses, or the object whose method is
    ///     referred to
    record Method(
            String owner, String name, String descriptor, int kind, List<@Nullable Object> captured)
            implements FunctionReference {
        public Method {
            captured = Collections.unmodifiableList(new ArrayList<>(captured));
        }
    }

    /// An object that is a value itself: a record or an enum constant.
    record Value(Object function) implements FunctionReference {}

    /// An object without state, created by its constructor without parameters.
    record Instance(String className) implements FunctionReference {}

    /// Finds the function among the classes of `loader`.
    ///
    /// @throws ConfigurationException when it does not exist, or must not be called
    default ResolvedFunction resolve(ClassLoader loader) {
        FunctionResolver functionResolver = new FunctionResolver(loader);
        return switch (this) {
            case Method method -> functionResolver.method(method);
            case Value(Object function) -> functionResolver.object(function);
            case Instance(String className) -> functionResolver.instance(className);
        };
    }
}
