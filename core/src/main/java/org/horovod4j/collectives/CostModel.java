package org.horovod4j.collectives;

/// The cost of a message: a latency plus a cost per byte. A rough model, but the same on every
/// rank.
///
/// @param latencyNanos the time to send an empty message
/// @param nanosPerByte the additional time per byte
public record CostModel(double latencyNanos, double nanosPerByte) {
    /// Costs of a fast local network.
    public static final CostModel DEFAULT = new CostModel(20_000, 0.4);

    /// In halving-doubling distant partners share network links. A ring does not share them. Measured
    /// with 16 ranks: decision 32.
    private static final double LINK_SHARING_FACTOR = 1.6;

    /// With four ranks only two pairs exchange at a time. Measured between four hosts, assumed for three.
    private static final double SMALL_SIZE_SHARING_FACTOR = 1.2;

    private static final int MAX_SMALL_SIZE = 4;

    /// `2(n - 1)` steps with `1/n` of the tensor each.
    double ring(int size, long bytes) {
        double steps = 2.0 * (size - 1);
        return steps * (latencyNanos + nanosPerByte * bytes / size);
    }

    /// `2 log2 n` steps that together send as many bytes as a ring; two more with all bytes to
    /// fold.
    double halvingDoubling(int size, long bytes) {
        int power = Integer.highestOneBit(size);
        double steps = 2.0 * log2(power);
        double sharing = size <= MAX_SMALL_SIZE ? SMALL_SIZE_SHARING_FACTOR : LINK_SHARING_FACTOR;
        double each = 2.0 * (power - 1) / power * bytes * nanosPerByte * sharing;
        return steps * latencyNanos + each + foldCost(size, bytes);
    }

    /// `log2 n` steps with all bytes; two more to fold.
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
