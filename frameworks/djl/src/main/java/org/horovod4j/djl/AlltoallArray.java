package org.horovod4j.djl;

import ai.djl.ndarray.NDArray;

import java.util.List;

/// The result of an alltoall on arrays.
///
/// @param array the rows that this rank received, in the order of ranks
/// @param receivedSplits how many rows came from each rank
public record AlltoallArray(NDArray array, List<Integer> receivedSplits) {
    public AlltoallArray {
        receivedSplits = List.copyOf(receivedSplits);
    }
}
