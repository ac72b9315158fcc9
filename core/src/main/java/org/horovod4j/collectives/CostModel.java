package org.horovod4j.collectives;

/// What a message costs: a latency, and a price per byte. Rough, but the same on every rank.
///
/// @param latencyNanos from one rank to another, however short the message
/// @param nanosPerByte each further byte
public record CostModel(double latencyNanos, double nanosPerByte) {
    /// The usual costs: those of a fast local network.
    public static final CostModel DEFAULT = new CostModel(20_000, 0.4);

    /// Far partners of halving-doubling share links that a ring keeps to itself.
    private static final double LINK_SHARING_FACTOR = 1.25;

    /// `2(n - 1)` steps with an `n`-th of the tensor each.
    double ring(int size, long bytes) {
        double steps = 2.0 * (size - 1);
        return steps * (latencyNanos + nanosPerByte * bytes / size);
    }

    /// `2 log2 n` steps, together as many bytes as the ring; two more of all bytes to fold.
    double halvingDoubling(int size, long bytes) {
        int power = Integer.highestOneBit(size);
        double steps = 2.0 * log2(power);
        double each = 2.0 * (power - 1) / power * bytes * nanosPerByte * LINK_SHARING_FACTOR;
        return steps * latencyNanos + each + foldCost(size, bytes);
    }

    /// `log2 n` steps of all bytes; two more to fold.
    double doubling(int size, long bytes) {
        return log2(Integer.highestOneBit(size)) * (latencyNanos + nanosPerByte * bytes)
                + foldCost(size, bytes);
    }

    private double foldCost(int size, long bytes) {
        return Integer.bitCount(size) == 1 ? 0 : 2 * (latencyNanos + nanosPerByte * bytes);
    }

    private static int log2(int power) {
        return Integer.numberOfTrailingZeros(power);
    }
}
