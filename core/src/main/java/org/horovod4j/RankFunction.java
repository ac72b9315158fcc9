package org.horovod4j;

import org.jspecify.annotations.Nullable;

import java.io.Serializable;

/// A function that a launcher runs on each rank of a new job.
///
/// It is a lambda, a method reference, a record, an enum constant, or an object of a class without
/// fields that has a constructor without parameters. It extends [Serializable] because Java then
/// reveals which method a lambda calls and which values it captures; Horovod4J sends these and
/// never uses Java serialization.
///
/// @param <R> the result: null, or a value that [Communicator#broadcastObject] can send
@FunctionalInterface
public interface RankFunction<R extends @Nullable Object> extends Serializable {
    /// Runs in the process of one rank, after [Hvd#init()].
    R apply(Communicator communicator) throws Exception;
}
