package org.horovod4j.runtime.message;

import java.util.List;

/// What a rank says to the coordinator of its process set.
public sealed interface RankMessage {
    /// The rank has submitted these operations.
    ///
    /// @param epoch how often the rank has seen a plan locked or unlocked: what it said before that
    ///     is moot
    /// @param decisionsSeen how many responses it has seen, and so which cache slots it knows of
    /// @param segment counts up whenever the program has seen an operation complete: operations of
    ///     one segment do not wait for each other in the program, so they may travel together
    /// @param requests in the order of submission, which is lost on the wire
    record Submit(long epoch, long decisionsSeen, long segment, List<RequestRef> requests)
            implements RankMessage {
        public Submit {
            requests = List.copyOf(requests);
        }
    }

    /// An operation, spelled out or by its place in the cache.
    sealed interface RequestRef {}

    record CachedRequest(int slot) implements RequestRef {}

    record NewRequest(Request request) implements RequestRef {}

    /// The rank has no more data, and takes part in what the others do with nothing of its own.
    ///
    /// @param epoch as in [Submit]
    record Join(long epoch) implements RankMessage {}

    /// The rank has been asked for something that is not in the locked plan, or lacks something
    /// that is.
    ///
    /// @param completed how many operations of the process set it has completed: all that it will
    ///     do of the plan
    /// @param fault whether the plan itself is to blame, so that it should not be locked again soon
    record Deviate(long completed, boolean fault) implements RankMessage {}

    /// The rank has stopped following the plan.
    ///
    /// @param abandoned whether it gave up an operation that others had not come to
    record Stopped(boolean abandoned) implements RankMessage {}

    /// The rank has cleaned up after an abandoned operation.
    record Ready() implements RankMessage {}
}
