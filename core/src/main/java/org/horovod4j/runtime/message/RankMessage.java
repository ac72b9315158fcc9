package org.horovod4j.runtime.message;

import java.util.List;

/// A message of a rank to the coordinator of its process set.
public sealed interface RankMessage {
    /// The rank has submitted these operations.
    ///
    /// @param epoch how often the rank has seen a plan locked or unlocked; the coordinator ignores
    ///     messages of an earlier epoch
    /// @param decisionsSeen the number of decisions it has seen, and so which cache slots it knows
    /// @param segment a counter that increases when the program has seen an operation complete.
    ///     Operations of one segment do not depend on each other, so they may share a batch of a
    ///     plan
    /// @param requests in the order of submission; the encoding does not keep the order
    record Submit(long epoch, long decisionsSeen, long segment, List<RequestRef> requests)
            implements RankMessage {
        public Submit {
            requests = List.copyOf(requests);
        }
    }

    /// An operation: its request, or its cache slot.
    sealed interface RequestRef {}

    record CachedRequest(int slot) implements RequestRef {}

    record NewRequest(Request request) implements RequestRef {}

    /// The rank has no more data. It takes part in the operations of the others without a tensor.
    ///
    /// @param epoch as in [Submit]
    record Join(long epoch) implements RankMessage {}

    /// The step of the rank has failed. It submits nothing more until all ranks have ended the step.
    ///
    /// @param epoch as in [Submit]
    record FailStep(long epoch, String reason) implements RankMessage {}

    /// The rank leaves the plan: its program has submitted something that is not in the plan, or
    /// waits for something that the plan holds back.
    ///
    /// @param completed the number of batches of the process set that it has completed: it will run
    ///     no more of the plan
    /// @param stuck whether the program waited, so that the plan should not be locked again soon
    record Deviate(long completed, boolean stuck) implements RankMessage {}

    /// The rank has stopped following the plan.
    ///
    /// @param cancelled whether it has cancelled a batch that other ranks had not started
    record Stopped(boolean cancelled) implements RankMessage {}

    /// The rank has reset the backend, as [CoordinatorMessage.Unlocked] asked.
    record ResetDone() implements RankMessage {}
}
