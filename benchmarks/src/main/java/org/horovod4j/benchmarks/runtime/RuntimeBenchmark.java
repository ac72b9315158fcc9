package org.horovod4j.benchmarks.runtime;

import org.horovod4j.Communicator;
import org.horovod4j.Hvd;
import org.horovod4j.benchmarks.JitWarmUp;
import org.horovod4j.benchmarks.report.Percentiles;
import org.horovod4j.benchmarks.report.Result;

import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Locale;
import java.util.Random;
import java.util.stream.Stream;

/// Times the allreduce of a training step's gradients in several variants that take turns, and
/// appends a [Result] for each turn to a file. The times are those of rank 0.
///
/// Arguments: VARIANTS WORKLOAD ROUND SEED OUTPUT SECONDS TURNS. VARIANTS is a comma-separated list
/// of [StepVariant]s, WORKLOAD the [Workload], ROUND the number of the round, SEED determines the
/// order of the variants in each turn, OUTPUT is the file, SECONDS the measuring time of a turn, and
/// TURNS the number of turns of each variant.
///
/// The speed of a shared machine changes from minute to minute by more than the differences to be
/// measured. Variants that are compared therefore run within a second of each other, in the same
/// processes.
public final class RuntimeBenchmark {
    private static final int ARGUMENTS = 7;

    /// What the runtime selects within a host, unless a setting of the job selects another one.
    private static final String TRANSPORT = "shm";

    /// The maximum number of warm-ups of each variant.
    private static final int WARM_UPS_MAX = 5;

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
                    "arguments are VARIANTS WORKLOAD ROUND SEED OUTPUT SECONDS TURNS, found "
                            + List.of(arguments));
        }
        List<StepVariant> variants =
                Stream.of(arguments[0].split(",", -1)).map(StepVariant::parse).toList();
        Workload workload = Workload.valueOf(arguments[1].toUpperCase(Locale.ROOT));
        int round = Integer.parseInt(arguments[2]);
        long seed = Long.parseLong(arguments[3]);
        Path output = Path.of(arguments[4]);
        Duration turn = Duration.ofNanos((long) (Double.parseDouble(arguments[5]) * 1e9));
        int turns = Integer.parseInt(arguments[6]);

        Hvd.init();
        try {
            new RuntimeBenchmark(Hvd.communicator(), workload, variants, turn)
                    .measure(turns, round, seed, output);
        } finally {
            Hvd.shutdown();
        }
    }

    private void measure(int turns, int round, long seed, Path output) throws IOException {
        // More than once: code that the JIT optimized for one variant may have to be recompiled for
        // another. With a rank on every core, the compilers need seconds.
        double _ =
                JitWarmUp.of(comm).run(() -> runners.forEach(VariantRunner::warmUp), WARM_UPS_MAX);
        Random random = new Random(seed + round);
        List<VariantRunner> order = new ArrayList<>(runners);
        for (int turn = 1; turn <= turns; turn++) {
            // The seed is the same on all ranks, and so is the order.
            Collections.shuffle(order, random);
            for (VariantRunner variantRunner : order) {
                append(variantRunner, round, turn, output);
            }
        }
        runners.forEach(VariantRunner::verify);
    }

    private void append(VariantRunner variantRunner, int round, int turn, Path output)
            throws IOException {
        Percentiles micros = variantRunner.runTurn();
        if (comm.rank() == 0) {
            StepVariant variant = variantRunner.variant();
            new Result(
                            variant.toString(),
                            variant.runtimeSetting() == RuntimeSetting.TCP ? "tcp" : TRANSPORT,
                            comm.size(),
                            workload.byteSize(),
                            round,
                            turn,
                            micros)
                    .appendTo(output);
        }
    }
}
