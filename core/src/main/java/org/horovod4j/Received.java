package org.horovod4j;

/// What an alltoall brought: the rows from all ranks in rank order, and how many each sent.
public final class Received {
    private final Tensor tensor;
    private final int[] splits;

    public Received(Tensor tensor, int[] splits) {
        this.tensor = tensor;
        this.splits = splits.clone();
    }

    /// The rows received.
    public Tensor tensor() {
        return tensor;
    }

    /// How many rows came from each rank.
    public int[] splits() {
        return splits.clone();
    }

    @Override
    public String toString() {
        return tensor + " from splits " + java.util.Arrays.toString(splits);
    }
}
