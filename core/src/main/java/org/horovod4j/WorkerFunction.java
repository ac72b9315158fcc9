package org.horovod4j;

import org.jspecify.annotations.Nullable;

import java.io.Serializable;

/// A function that a launcher runs on each worker of a new elastic job. It calls
/// `org.horovod4j.elastic.Elastic.run`, which joins the job; before that, the worker has no rank.
///
/// It has the forms of a [RankFunction].
///
/// @param <R> the result: null, or a value that [Communicator#broadcastObject] can send
@FunctionalInterface
public interface WorkerFunction<R extends @Nullable Object> extends Serializable {
    /// Runs in the process of one worker.
    R call() throws Exception;
}
