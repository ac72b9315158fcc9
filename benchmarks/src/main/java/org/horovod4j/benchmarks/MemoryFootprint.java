package org.horovod4j.benchmarks;

import org.horovod4j.Hvd;

import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;

/// Passes a barrier and waits, so that a script can measure the memory of the process. Arguments: a
/// file for the process ID, and a pipe; the process exits after it has read one byte from the pipe.
public final class MemoryFootprint {
    private MemoryFootprint() {}

    public static void main(String[] arguments) throws IOException {
        Hvd.init();
        Hvd.barrier();
        Files.writeString(
                Path.of(arguments[0]),
                ProcessHandle.current().pid() + "\n",
                StandardOpenOption.CREATE,
                StandardOpenOption.APPEND);
        try (InputStream go = Files.newInputStream(Path.of(arguments[1]))) {
            if (go.read() < 0) {
                throw new IOException("the pipe ended without a word");
            }
        }
        Hvd.barrier();
        Hvd.shutdown();
    }
}
