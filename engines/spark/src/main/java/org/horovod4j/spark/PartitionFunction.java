package org.horovod4j.spark;

import org.horovod4j.Communicator;
import org.jspecify.annotations.Nullable;

import java.io.Serializable;
import java.util.Iterator;

/// A function that [HvdSpark] runs on each rank, with the rows of one partition. Spark serializes it.
///
/// @param <T> the rows
/// @param <R> the result: null, or a value that Spark can serialize
@FunctionalInterface
public interface PartitionFunction<T, R extends @Nullable Object> extends Serializable {
    /// Runs on one rank.
    R apply(Communicator communicator, Iterator<T> rows) throws Exception;
}
