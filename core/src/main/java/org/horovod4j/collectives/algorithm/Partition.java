package org.horovod4j.collectives.algorithm;

/// Cuts a count of elements into nearly equal parts.
public final class Partition {
    private Partition() {}

    /// Where part `index` of `parts` begins; part `parts` begins at the end. Written so that counts
    /// beyond 2^31 times many parts do not overflow.
    public static long start(long count, int index, int parts) {
        return count / parts * index + count % parts * index / parts;
    }
}
