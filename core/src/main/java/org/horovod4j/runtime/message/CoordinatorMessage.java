package org.horovod4j.runtime.message;

import org.horovod4j.spi.Tuning;

import java.util.List;

/// What the coordinator tells all ranks of its process set, itself included, in the same order.
public sealed interface CoordinatorMessage {
    /// Run these operations as one.
    ///
    /// @param tensors which
    /// @param divisor what an average divides by
    record Run(List<OperationRef> tensors, int divisor) implements CoordinatorMessage {
        public Run {
            tensors = List.copyOf(tensors);
        }
    }

    /// One of the operations that run together.
    sealed interface OperationRef {}

    /// One that is in the cache.
    record Cached(int slot) implements OperationRef {}

    /// One that is not.
    ///
    /// @param request as all ranks mean it
    /// @param slot where it is cached from now on, or -1
    record Uncached(Request request, int slot) implements OperationRef {}

    /// The ranks do not agree about an operation.
    record Fail(String name, String reason) implements CoordinatorMessage {}

    /// All ranks have joined.
    record Joined(int lastRank) implements CoordinatorMessage {}

    /// These cache slots are free.
    record Evict(List<Integer> slots) implements CoordinatorMessage {
        public Evict {
            slots = List.copyOf(slots);
        }
    }

    /// From now on follow the plan.
    ///
    /// @param plan the plan's number
    /// @param buckets what runs together, in order, again and again; empty when the ranks know the
    ///     plan
    /// @param start the first bucket to run
    record Lock(long plan, List<List<Request>> buckets, int start) implements CoordinatorMessage {
        public Lock {
            buckets = buckets.stream().map(List::copyOf).toList();
        }
    }

    /// Stop following the plan after so many operations.
    record Unlock(long completed) implements CoordinatorMessage {}

    /// Nobody follows the plan any more.
    ///
    /// @param reset whether to clean up after an abandoned operation
    record Unlocked(boolean reset) implements CoordinatorMessage {}

    /// Use this tuning from now on.
    record Tune(Tuning tuning) implements CoordinatorMessage {}
}
