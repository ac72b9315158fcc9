package org.horovod4j.benchmarks.runtime;

import org.horovod4j.Communicator;
import org.horovod4j.Hvd;
import org.horovod4j.benchmarks.report.Result;
import org.horovod4j.benchmarks.report.Spread;

import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Locale;
import java.util.stream.Stream;

/// Sums a training step's gradients over all ranks, step after step, in several ways that take turns, and
/// appends a [Result] of each turn to a file: rank 0's times.
///
/// Arguments: VARIANTS WORKLOAD OUTPUT SECONDS TURNS, that is the [Variant]s, joined by commas, the
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
    private final List<Contender> contenders;

    private RuntimeBenchmark(
            Communicator comm, Workload workload, List<Variant> variants, Duration turn) {
        this.comm = comm;
        this.workload = workload;
        Arithmetic arithmetic = Arithmetic.calibrate(comm);
        StepTimer timer = new StepTimer(comm, turn);
        this.contenders =
                variants.stream()
                        .map(each -> new Contender(comm, each, workload, arithmetic, timer))
                        .toList();
    }

    public static void main(String[] arguments) throws IOException {
        if (arguments.length != ARGUMENTS) {
            throw new IllegalArgumentException(
                    "arguments are VARIANTS WORKLOAD OUTPUT SECONDS TURNS, found "
                            + List.of(arguments));
        }
        List<Variant> variants =
                Stream.of(arguments[0].split(",", -1)).map(Variant::parse).toList();
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
        contenders.forEach(Contender::warmUp);
        // Once for practice: what one contender has taught the compiler, another may have to
        // unlearn.
        for (Contender contender : contenders) {
            Spread _ = contender.takeTurn();
        }
        for (int turn = 0; turn < turns; turn++) {
            for (Contender contender : contenders) {
                append(contender.variant(), contender.takeTurn(), output);
            }
        }
        contenders.forEach(Contender::verify);
    }

    private void append(Variant variant, Spread micros, Path output) throws IOException {
        if (comm.rank() == 0) {
            new Result(variant.toString(), TRANSPORT, comm.size(), workload.byteSize(), micros)
                    .appendTo(output);
        }
    }
}
