package org.horovod4j.benchmarks.runtime;

import org.horovod4j.Communicator;
import org.horovod4j.Hvd;
import org.horovod4j.benchmarks.report.Percentiles;
import org.horovod4j.benchmarks.report.Result;

import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Locale;
import java.util.stream.Stream;

/// Sums a training step's gradients over all ranks, step after step, in several modes that take turns, and
/// appends a [Result] of each turn to a file: rank 0's times.
///
/// Arguments: VARIANTS WORKLOAD OUTPUT SECONDS TURNS, that is the [StepVariant]s, joined by commas, the
/// [Workload], the file, the timed seconds of a turn and how many turns each has.
///
/// A machine that others use too is faster in one minute than in the next, by more than what is to be
/// found. So what will be divided by each other is measured within a second, in the same processes.
public final class RuntimeBenchmark {
    private static final int ARGUMENTS = 5;

    /// `runtime.sh` leaves the transport to the runtime, which means this one inside a host.
    private static final String TRANSPORT = "shm";

    private final Communicator comm;
    private final Workload workload;
    private final List<VariantRunner> runners;

    private RuntimeBenchmark(
            Communicator comm, Workload workload, List<StepVariant> variants, Duration turn) {
        this.comm = comm;
        this.workload = workload;
        Runnable layerCompute = SyntheticCompute.oneMillisecond(comm);
        StepTimer timer = new StepTimer(comm, turn);
        this.runners =
                variants.stream()
                        .map(each -> new VariantRunner(comm, each, workload, layerCompute, timer))
                        .toList();
    }

    public static void main(String[] arguments) throws IOException {
        if (arguments.length != ARGUMENTS) {
            throw new IllegalArgumentException(
                    "arguments are VARIANTS WORKLOAD OUTPUT SECONDS TURNS, found "
                            + List.of(arguments));
        }
        List<StepVariant> variants =
                Stream.of(arguments[0].split(",", -1)).map(StepVariant::parse).toList();
        Workload workload = Workload.valueOf(arguments[1].toUpperCase(Locale.ROOT));
        Path output = Path.of(arguments[2]);
        Duration turn = Duration.ofNanos((long) (Double.parseDouble(arguments[3]) * 1e9));
        int turns = Integer.parseInt(arguments[4]);

        Hvd.init();
        try {
            new RuntimeBenchmark(Hvd.communicator(), workload, variants, turn)
                    .measure(turns, output);
        } finally {
            Hvd.shutdown();
        }
    }

    private void measure(int turns, Path output) throws IOException {
        runners.forEach(VariantRunner::warmUp);
        // Once for practice: what one contender has taught the compiler, another may have to
        // unlearn.
        for (VariantRunner variantRunner : runners) {
            Percentiles _ = variantRunner.runTurn();
        }
        for (int turn = 0; turn < turns; turn++) {
            for (VariantRunner variantRunner : runners) {
                append(variantRunner.variant(), variantRunner.runTurn(), output);
            }
        }
        runners.forEach(VariantRunner::verify);
    }

    private void append(StepVariant stepVariant, Percentiles micros, Path output)
            throws IOException {
        if (comm.rank() == 0) {
            new Result(stepVariant.toString(), TRANSPORT, comm.size(), workload.byteSize(), micros)
                    .appendTo(output);
        }
    }
}
