package org.horovod4j;

/// The result of an alltoall: the rows from all ranks of the process set, in the order of ranks, and
/// how many came from each.
public final class AlltoallResult {
    private final Tensor tensor;
    private final int[] receivedSplits;

    public AlltoallResult(Tensor tensor, int[] receivedSplits) {
        this.tensor = tensor;
        this.receivedSplits = receivedSplits.clone();
    }

    /// The rows that this rank received.
    public Tensor tensor() {
        return tensor;
    }

    /// How many rows came from each rank, by its rank in the process set.
    public int[] receivedSplits() {
        return receivedSplits.clone();
    }

    @Override
    public String toString() {
        return tensor + " from splits " + java.util.Arrays.toString(receivedSplits);
    }
}
