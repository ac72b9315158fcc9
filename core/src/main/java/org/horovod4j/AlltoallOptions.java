package org.horovod4j;

import java.util.List;
import java.util.Optional;
import java.util.stream.IntStream;

/// How an alltoall divides the rows of a rank's tensor. Immutable. Splits may differ between ranks.
///
/// @param splits how many rows each rank of the process set gets, by its rank in the set; empty
///     for equal parts
/// @param processSet the ranks that take part; empty for those of the communicator that is called
public record AlltoallOptions(Optional<List<Integer>> splits, Optional<ProcessSet> processSet) {
    public AlltoallOptions {
        splits = splits.map(List::copyOf);
    }

    /// The same number of rows for each rank.
    public static AlltoallOptions equalSplits() {
        return new AlltoallOptions(Optional.empty(), Optional.empty());
    }

    /// `rows[r]` rows for each rank r of the process set.
    public static AlltoallOptions splits(int... rows) {
        return new AlltoallOptions(
                Optional.of(IntStream.of(rows).boxed().toList()), Optional.empty());
    }

    /// Runs the operation among the ranks of `set`, of which this process must be one.
    public AlltoallOptions in(ProcessSet set) {
        return new AlltoallOptions(splits, Optional.of(set));
    }

    /// Runs the operation among the ranks of the communicator that is called.
    public AlltoallOptions withoutProcessSet() {
        return new AlltoallOptions(splits, Optional.empty());
    }
}
