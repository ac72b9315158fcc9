package org.horovod4j.spi;

/// A rank and the number of ranks: of the job, of a host, or across hosts.
public record RankAndSize(int rank, int size) {
    /// The only process.
    public static final RankAndSize SINGLE = new RankAndSize(0, 1);

    public RankAndSize {
        if (rank < 0 || rank >= size) {
            throw new IllegalArgumentException(
                    "rank %d is not in 0 to %d".formatted(rank, size - 1));
        }
    }
}
