package org.horovod4j.benchmarks;

import java.io.IOException;
import java.nio.file.Path;

/// The least a JVM can do: notes when it got here. The peer of [InitOnly], under `mpirun`.
/// Argument: the file for the [Moment].
public final class Hello {
    private Hello() {}

    public static void main(String[] arguments) throws IOException {
        Moment.note(Path.of(arguments[0]));
    }
}
