package org.horovod4j.runtime.message;

import org.horovod4j.spi.Tuning;

import java.util.List;

/// A decision that the coordinator sends to all ranks of its process set, itself included, in one
/// order.
public sealed interface CoordinatorMessage {
    /// Run these operations as one batch.
    ///
    /// @param operations the operations of the batch, in order
    /// @param divisor the divisor of an average
    record Run(List<OperationRef> operations, int divisor) implements CoordinatorMessage {
        public Run {
            operations = List.copyOf(operations);
        }
    }

    /// An operation of a batch.
    sealed interface OperationRef {}

    /// An operation whose request is cached.
    record Cached(int slot) implements OperationRef {}

    /// An operation whose request is not cached.
    ///
    /// @param request what all ranks have requested
    /// @param slot the cache slot that it gets, or -1
    record Uncached(Request request, int slot) implements OperationRef {}

    /// The ranks have requested different things under one name.
    ///
    /// @param ranks those that have requested it, as ranks of the process set. An entry of this name
    ///     on another rank is newer than the decision
    record Fail(String name, String reason, List<Integer> ranks) implements CoordinatorMessage {
        public Fail {
            ranks = List.copyOf(ranks);
        }
    }

    /// All ranks have joined.
    record Joined(int lastRank) implements CoordinatorMessage {}

    /// The failed step has ended on all ranks that have not joined.
    record StepEnded(int lastRank) implements CoordinatorMessage {}

    /// These cache slots are no longer valid.
    record Evict(List<Integer> slots) implements CoordinatorMessage {
        public Evict {
            slots = List.copyOf(slots);
        }
    }

    /// Follow this plan from now on.
    ///
    /// @param plan the plan's number
    /// @param batches the batches, in order, to be repeated; empty if the ranks know the plan
    /// @param start the first batch to run
    record Lock(long plan, List<List<Request>> batches, int start) implements CoordinatorMessage {
        public Lock {
            batches = batches.stream().map(List::copyOf).toList();
        }
    }

    /// Leave the plan after this number of batches.
    record Unlock(long completed) implements CoordinatorMessage {}

    /// All ranks have left the plan.
    ///
    /// @param reset whether to reset the backend after a cancelled batch
    record Unlocked(boolean reset) implements CoordinatorMessage {}

    /// Use this tuning from now on.
    record Tune(Tuning tuning) implements CoordinatorMessage {}
}
