package org.horovod4j.benchmarks;

import org.horovod4j.Hvd;

import java.io.IOException;
import java.nio.file.Path;

/// Joins the job, records the time, and leaves. Argument: the path of the [TimestampFile].
public final class InitOnly {
    private InitOnly() {}

    public static void main(String[] arguments) throws IOException {
        Hvd.init();
        TimestampFile.append(Path.of(arguments[0]));
        Hvd.shutdown();
    }
}
