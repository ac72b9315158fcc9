package org.horovod4j.benchmarks;

import org.horovod4j.Hvd;

import java.io.IOException;
import java.nio.file.Path;

/// Joins the job, notes when that was done, and leaves. Argument: the file for the [TimestampFile].
public final class InitOnly {
    private InitOnly() {}

    public static void main(String[] arguments) throws IOException {
        Hvd.init();
        TimestampFile.append(Path.of(arguments[0]));
        Hvd.shutdown();
    }
}
