package org.horovod4j.benchmarks.elastic;

import org.horovod4j.Hvd;
import org.horovod4j.ReduceOp;
import org.horovod4j.elastic.Elastic;
import org.horovod4j.elastic.ObjectState;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;

/// A worker of an elastic job that records the completion of each step, for `elastic.sh`.
///
/// Arguments: the file for the records, and a file whose creation ends the training. A record is a
/// line with the milliseconds since 1970, the number of ranks and the process ID.
public final class ElasticSteps {
    /// The number of parameters of a small model.
    private static final int PARAMETERS = 1_000_000;

    private ElasticSteps() {}

    public static void main(String[] arguments) throws IOException {
        Path notes = Path.of(arguments[0]);
        Path end = Path.of(arguments[1]);
        float[] weights = new float[PARAMETERS];
        float[] gradient = new float[PARAMETERS];
        float[] isLast = new float[1];
        ObjectState state = new ObjectState().with("weights", weights);
        Elastic.run(
                state,
                s -> {
                    do {
                        Hvd.allreduce("gradient", gradient, ReduceOp.AVERAGE);
                        for (int at = 0; at < weights.length; at++) {
                            weights[at] -= gradient[at];
                        }
                        isLast[0] = Files.exists(end) ? 1 : 0; // may differ between ranks
                        Hvd.allreduce("is last", isLast, ReduceOp.MAX);
                        appendStep(notes);
                        s.commit();
                    } while (isLast[0] == 0);
                });
        Hvd.shutdown();
    }

    private static void appendStep(Path file) {
        String line =
                "%d %d %d%n"
                        .formatted(
                                System.currentTimeMillis(),
                                Hvd.size(),
                                ProcessHandle.current().pid());
        try {
            Files.writeString(file, line, StandardOpenOption.CREATE, StandardOpenOption.APPEND);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
