package org.horovod4j.launcher;

import org.horovod4j.Hvd;

/// Rank 1 throws from a deep stack, while the other rank waits for it.
final class ThrowingRank {
    private ThrowingRank() {}

    public static void main(String[] arguments) {
        Hvd.init();
        if (Hvd.rank() == 1) {
            System.out.println(depth(30));
        }
        Hvd.barrier();
    }

    private static int depth(int levels) {
        if (levels > 0) {
            return 1 + depth(levels - 1);
        }
        throw new IllegalStateException("no such layer");
    }
}
