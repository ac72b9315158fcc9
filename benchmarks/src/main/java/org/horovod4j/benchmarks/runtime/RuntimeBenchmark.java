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

/// Sums a training step's gradients over all ranks, step after step, and appends a [Result] to a
/// file: rank 0's times.
///
/// Arguments: VARIANT WORKLOAD OUTPUT SECONDS, that is the [Variant], the [Workload], the file and
/// the timed seconds. One job measures one variant of one workload, as a training program would
/// have it: neither the compiler nor the runtime's plan has seen anything else.
public final class RuntimeBenchmark {
    private static final int ARGUMENTS = 4;

    /// `runtime.sh` leaves the transport to the runtime, which means this one inside a host.
    private static final String TRANSPORT = "shm";

    private final Communicator comm;
    private final Workload workload;
    private final StepTimer timer;

    private RuntimeBenchmark(Communicator comm, Workload workload, Duration timed) {
        this.comm = comm;
        this.workload = workload;
        this.timer = new StepTimer(comm, timed);
    }

    public static void main(String[] arguments) throws IOException {
        if (arguments.length != ARGUMENTS) {
            throw new IllegalArgumentException(
                    "arguments are VARIANT WORKLOAD OUTPUT SECONDS, found " + List.of(arguments));
        }
        Variant variant = Variant.parse(arguments[0]);
        Workload workload = Workload.valueOf(arguments[1].toUpperCase(Locale.ROOT));
        Path output = Path.of(arguments[2]);
        Duration timed = Duration.ofNanos((long) (Double.parseDouble(arguments[3]) * 1e9));

        Hvd.init();
        try {
            new RuntimeBenchmark(Hvd.communicator(), workload, timed).measure(variant, output);
        } finally {
            Hvd.shutdown();
        }
    }

    private void measure(Variant variant, Path output) throws IOException {
        boolean flat = variant.way() == Way.FLAT;
        Gradients gradients =
                Gradients.allocate(
                        comm, variant.placement(), flat ? workload.flat() : workload.parameters());
        Arithmetic arithmetic = Arithmetic.calibrate(comm);
        for (Way way : variant.way().measured()) {
            Runnable step = step(way, gradients, arithmetic);
            Spread micros = way == Way.COMPUTE ? timer.time(step) : timeSums(gradients, step);
            if (comm.rank() == 0) {
                String program = variant.with(way).toString();
                new Result(program, TRANSPORT, comm.size(), workload.byteSize(), micros)
                        .appendTo(output);
            }
        }
    }

    private static Runnable step(Way way, Gradients gradients, Arithmetic arithmetic) {
        return switch (way) {
            case FLAT -> gradients::sumSynchronously;
            case ASYNC, COMMUNICATE -> () -> gradients.sumAsynchronously(() -> {});
            case GROUPED -> gradients::sumAsGroup;
            case COMPUTE -> () -> gradients.skip(arithmetic);
            case OVERLAP -> () -> gradients.sumAsynchronously(arithmetic);
        };
    }

    /// Checked before, and again after: only then has the runtime reached the state that was timed.
    private Spread timeSums(Gradients gradients, Runnable step) {
        gradients.verify(step);
        Spread micros = timer.time(step);
        gradients.verify(step);
        return micros;
    }
}
