package org.horovod4j.launcher.function;

import org.horovod4j.Communicator;
import org.jspecify.annotations.Nullable;

/// A function that was found and is ready to be called.
@FunctionalInterface
interface ResolvedFunction {
    @Nullable Object apply(Communicator communicator) throws Throwable;
}
