package org.horovod4j.launcher.function;

import org.horovod4j.testing.World;
import org.jspecify.annotations.Nullable;

import java.util.Objects;

/// Calls what arrived at a rank, in a world of one.
final class FunctionCaller {
    private FunctionCaller() {}

    static Object call(@Nullable Object arrived, ClassLoader loader) {
        if (!(arrived instanceof FunctionReference reference)) {
            throw new AssertionError("no function arrived but " + arrived);
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
