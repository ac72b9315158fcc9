package org.horovod4j.launcher.function;

import org.horovod4j.launcher.function.FunctionResolver.ResolvedFunction;
import org.horovod4j.testing.World;
import org.jspecify.annotations.Nullable;

import java.util.Objects;

/// Calls a received function, as a single rank.
final class FunctionCaller {
    private FunctionCaller() {}

    static Object call(@Nullable Object received, ClassLoader loader) {
        if (!(received instanceof FunctionReference reference)) {
            throw new AssertionError("not a function: " + received);
        }
        ResolvedFunction resolvedFunction = reference.resolve(loader);
        return World.of(1)
                .call(
                        comm -> {
                            try {
                                return Objects.requireNonNull(resolvedFunction.apply(comm));
                            } catch (Throwable e) {
                                throw new AssertionError("the function threw", e);
                            }
                        })
                .getFirst();
    }
}
