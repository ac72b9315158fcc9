package org.horovod4j.djl;

/// One rank's share of the samples of an epoch: every `size`-th of the shuffled samples, beginning
/// with number `rank`.
///
/// So the batches that all ranks train on in one step are, together, the batch that one process
/// with `size` times the batch size would have taken, and a shuffle trains alike on any number of
/// ranks.
///
/// What makes one rank's share impossible makes that of all: a rank that throws alone would leave
/// the others waiting. So with [Tail#UNEVEN], where shares differ, one may be empty.
record Shard(long samples, int rank, int size, int batchSize, Tail tail) {
    Shard {
        if (samples < 1) {
            throw new IllegalArgumentException(
                    "the data set is empty: there is nothing to share out among %d ranks"
                            .formatted(size));
        }
        if (tail != Tail.UNEVEN && batches(samples, rank, size, batchSize, tail) == 0) {
            throw new IllegalArgumentException(tooFew(samples, size, batchSize, tail));
        }
    }

    private static String tooFew(long samples, int size, int batchSize, Tail tail) {
        return switch (tail) {
            case DROP ->
                    """
                    %d samples do not make one batch of %d for each of %d ranks, and Tail.DROP leaves out \
                    what does not fill a batch. Use a batch size of at most %d, fewer ranks, or Tail.KEEP."""
                            .formatted(samples, batchSize, size, samples / size);
            case KEEP, PAD, UNEVEN ->
                    """
                    %d samples are too few for %d ranks: some would have none. Use fewer ranks, or Tail.PAD, \
                    which repeats samples."""
                            .formatted(samples, size);
        };
    }

    /// How many batches this rank has in an epoch.
    int batches() {
        return Math.toIntExact(batches(samples, rank, size, batchSize, tail));
    }

    private static long batches(long samples, int rank, int size, int batchSize, Tail tail) {
        return switch (tail) {
            case KEEP -> Math.ceilDiv(samples / size, batchSize);
            case DROP -> samples / size / batchSize;
            case PAD -> Math.ceilDiv(Math.ceilDiv(samples, size), batchSize);
            case UNEVEN -> Math.ceilDiv(samplesOf(samples, rank, size), batchSize);
        };
    }

    /// How many samples this rank has in an epoch.
    long length() {
        return switch (tail) {
            case KEEP, DROP, UNEVEN ->
                    Math.min(samplesOf(samples, rank, size), (long) batches() * batchSize);
            case PAD -> Math.ceilDiv(samples, size);
        };
    }

    private static long samplesOf(long samples, int rank, int size) {
        return Math.ceilDiv(samples - rank, size);
    }

    /// Where this rank's sample number `index` lies among the shuffled samples of all ranks.
    long position(long index) {
        return (rank + index * size) % samples;
    }
}
