package org.horovod4j.launcher;

import org.horovod4j.Hvd;

/// A rank that joins, meets the others and leaves, without a word.
final class InitShutdownProgram {
    private InitShutdownProgram() {}

    public static void main(String[] arguments) {
        Hvd.init();
        Hvd.barrier();
        Hvd.shutdown();
    }
}
