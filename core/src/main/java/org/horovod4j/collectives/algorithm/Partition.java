package org.horovod4j.collectives.algorithm;

/// Divides a number of elements into nearly equal parts.
public final class Partition {
    private Partition() {}

    /// The first element of part `index` of `parts`; `count` for `index == parts`. The formula
    /// avoids the overflow of `count * index`.
    public static long start(long count, int index, int parts) {
        return count / parts * index + count % parts * index / parts;
    }
}
