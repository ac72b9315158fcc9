package org.horovod4j.launcher.function;

import org.horovod4j.Communicator;
import org.jspecify.annotations.Nullable;

/// A function that was found and is ready to be called.
@FunctionalInterface
interface Call {
    @Nullable Object with(Communicator communicator) throws Throwable;
}
