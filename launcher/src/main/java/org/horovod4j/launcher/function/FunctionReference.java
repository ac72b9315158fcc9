package org.horovod4j.launcher.function;

import org.horovod4j.ConfigurationException;
import org.jspecify.annotations.Nullable;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;

/// What of a function travels to the ranks: names, and values that the codec carries.
///
/// The parts are what `org.horovod4j.codec` takes, so a reference is sent as the record it is.
sealed interface FunctionReference {
    /// A lambda or method reference: the method it calls and the values it calls it with, before
    /// the communicator.
    ///
    /// @param owner the class that declares the method
    /// @param descriptor the method's parameters and result, as class files write them
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

    /// An object without state, made anew by its constructor without parameters.
    record Instance(String className) implements FunctionReference {}

    /// Finds the function among the classes of `loader`.
    ///
    /// @throws ConfigurationException when it is not there, or may not be called
    default ResolvedFunction resolve(ClassLoader loader) {
        FunctionResolver functionResolver = new FunctionResolver(loader);
        return switch (this) {
            case Method method -> functionResolver.method(method);
            case Value(Object function) -> functionResolver.object(function);
            case Instance(String className) -> functionResolver.instance(className);
        };
    }
}
