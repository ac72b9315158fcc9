package org.horovod4j.launcher;

import org.horovod4j.Hvd;

/// A rank that joins the others and leaves, and prints nothing.
final class InitShutdownProgram {
    private InitShutdownProgram() {}

    public static void main(String[] arguments) {
        Hvd.init();
        Hvd.barrier();
        Hvd.shutdown();
    }
}
