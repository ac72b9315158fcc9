package org.horovod4j;

/// What an alltoall brought: the rows from all ranks in rank order, and how many each sent.
public final class AlltoallResult {
    private final Tensor tensor;
    private final int[] receivedSplits;

    public AlltoallResult(Tensor tensor, int[] receivedSplits) {
        this.tensor = tensor;
        this.receivedSplits = receivedSplits.clone();
    }

    /// The rows received.
    public Tensor tensor() {
        return tensor;
    }

    /// How many rows came from each rank.
    public int[] receivedSplits() {
        return receivedSplits.clone();
    }

    @Override
    public String toString() {
        return tensor + " from splits " + java.util.Arrays.toString(receivedSplits);
    }
}
