package org.horovod4j.launcher.function;

import org.horovod4j.Communicator;
import org.jspecify.annotations.Nullable;

import java.io.Serializable;

/// What each rank of a launched job does and returns.
///
/// Usually a lambda or a method reference; a record, an enum constant, or an object of a class with
/// a constructor without parameters and without fields serve too. It is [Serializable] for one
/// reason: Java then tells which method a lambda stands for and what it has captured. It is never
/// serialised.
///
/// @param <R> the result: something that `org.horovod4j.codec` carries, or null
@FunctionalInterface
public interface RankFunction<R extends @Nullable Object> extends Serializable {
    /// Runs in the process of one rank, where `Hvd` is initialised too.
    R apply(Communicator communicator) throws Exception;
}
