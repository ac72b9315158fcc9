package org.horovod4j.launcher;

import org.horovod4j.Hvd;

/// Rank 1 throws from deep within, while the other waits for it.
final class Thrower {
    private Thrower() {}

    public static void main(String[] arguments) {
        Hvd.init();
        if (Hvd.rank() == 1) {
            descend(30);
        }
        Hvd.barrier();
    }

    private static void descend(int depth) {
        if (depth == 0) {
            throw new IllegalStateException("no such layer");
        }
        descend(depth - 1);
    }
}
