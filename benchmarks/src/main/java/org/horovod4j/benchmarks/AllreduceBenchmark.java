package org.horovod4j.benchmarks;

import org.horovod4j.Communicator;
import org.horovod4j.Hvd;
import org.horovod4j.ReduceOp;
import org.horovod4j.Tensor;
import org.horovod4j.benchmarks.report.Percentiles;
import org.horovod4j.benchmarks.report.Result;

import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;

/// Times an in-place allreduce of floats for several sizes, and appends a [Result] for each size to
/// a file.
///
/// Arguments: KIND TRANSPORT ROUND OUTPUT SECONDS SIZES. KIND is the [MemoryKind], optionally
/// followed by a dash and a label, such as `native-tls`. With the label `metric`, the program also
/// reduces a metric of another name after every 100 operations, and so leaves its plan now and then.
/// TRANSPORT is the name of the transport in the results; `HOROVOD_TRANSPORT` selects the transport
/// itself. ROUND is the number of the round, OUTPUT the file, SECONDS the measuring time for each
/// size, and SIZES a comma-separated list of byte sizes.
///
/// One job measures one memory kind, like a training program. Code that the JIT compiled for
/// several kinds can be slower for each of them.
public final class AllreduceBenchmark {
    private static final int ARGUMENTS = 6;
    private static final String METRIC_LABEL = "metric";

    /// The same as in measure.h.
    private static final int OPERATIONS_PER_METRIC = 100;

    private static final String TENSOR_NAME = "values";

    /// The largest tensor of the warm-up. Larger tensors run the same code and take longer. Tensors of
    /// up to 8 MiB may be one piece over TCP, and the code for several pieces would not be compiled.
    private static final int WARM_UP_BYTES_MAX = 16 << 20;

    /// The maximum number of warm-ups, in total over all sizes. With a rank on every core, the compilers
    /// need some twenty seconds.
    private static final int WARM_UPS_MAX = 75;

    private final Communicator comm;
    private final CollectiveTimer timer;
    private final boolean withMetric;

    AllreduceBenchmark(Communicator comm, Duration timed, boolean withMetric) {
        this.comm = comm;
        this.timer = new CollectiveTimer(comm, timed);
        this.withMetric = withMetric;
    }

    public static void main(String[] arguments) throws IOException {
        if (arguments.length != ARGUMENTS) {
            throw new IllegalArgumentException(
                    "arguments are KIND TRANSPORT ROUND OUTPUT SECONDS SIZES, found "
                            + Arrays.toString(arguments));
        }
        String[] kindAndLabel = arguments[0].split("-", 2);
        MemoryKind kind = MemoryKind.parse(kindAndLabel[0]);
        boolean withMetric = kindAndLabel.length == 2 && kindAndLabel[1].equals(METRIC_LABEL);
        String program = "horovod4j-" + arguments[0];
        String transport = arguments[1];
        int round = Integer.parseInt(arguments[2]);
        Path output = Path.of(arguments[3]);
        Duration timed = Duration.ofNanos((long) (Double.parseDouble(arguments[4]) * 1e9));
        int[] byteSizes =
                Arrays.stream(arguments[5].split(",")).mapToInt(Integer::parseInt).toArray();

        Hvd.init();
        try {
            Communicator comm = Hvd.communicator();
            AllreduceBenchmark benchmark = new AllreduceBenchmark(comm, timed, withMetric);
            benchmark.warmUp(kind, byteSizes);
            for (int byteSize : byteSizes) {
                Tensor tensor = kind.allocate(comm, byteSize / Float.BYTES);
                Percentiles micros =
                        benchmark.measure(
                                tensor, () -> comm.allreduce(TENSOR_NAME, tensor, ReduceOp.SUM));
                if (comm.rank() == 0) {
                    new Result(program, transport, comm.size(), byteSize, round, 1, micros)
                            .appendTo(output);
                }
            }
        } finally {
            Hvd.shutdown();
        }
    }

    /// Repeats operations of up to 16 MiB until the compilers of all ranks are idle. With a rank on every
    /// core, they slow down the first seconds of a job.
    private void warmUp(MemoryKind kind, int[] byteSizes) throws IOException {
        List<Tensor> tensors =
                Arrays.stream(byteSizes)
                        .map(byteSize -> Math.min(byteSize, WARM_UP_BYTES_MAX))
                        .distinct()
                        .mapToObj(byteSize -> kind.allocate(comm, byteSize / Float.BYTES))
                        .toList();
        long start = System.nanoTime();
        double compiling =
                JitWarmUp.of(comm)
                        .run(
                                () -> tensors.forEach(this::warmUp),
                                Math.max(1, WARM_UPS_MAX / tensors.size()));
        if (comm.rank() == 0) {
            System.err.printf(
                    "warm-up of %.1f s; in the end compilers were at work for %.1f %% of the time%n",
                    (System.nanoTime() - start) * 1e-9, 100 * compiling);
        }
    }

    private void warmUp(Tensor tensor) {
        Runnable allreduce = () -> comm.allreduce(TENSOR_NAME, tensor, ReduceOp.SUM);
        double _ = timer.warmUp(withMetric ? withMetric(allreduce) : allreduce);
    }

    /// Checks the sums before and after the timing. After it the runtime is in the state that was
    /// timed.
    ///
    /// @param allreduce sums the tensor over all ranks
    /// @return the time of one operation, in microseconds
    Percentiles measure(Tensor tensor, Runnable allreduce) {
        verify(tensor, allreduce);
        // Zeros remain zeros. The sums of other values would overflow.
        tensor.segment().fill((byte) 0);
        Percentiles micros = withMetric ? timeWithMetric(allreduce) : timer.time(allreduce);
        verify(tensor, allreduce);
        return micros;
    }

    /// Several operations, and then one of a metric.
    private Runnable withMetric(Runnable allreduce) {
        double[] metric = new double[1];
        return () -> {
            for (int i = 0; i < OPERATIONS_PER_METRIC; i++) {
                allreduce.run();
            }
            comm.allreduce("metric", metric, ReduceOp.SUM);
        };
    }

    private Percentiles timeWithMetric(Runnable allreduce) {
        Percentiles micros = timer.time(withMetric(allreduce));
        return new Percentiles(
                micros.median() / OPERATIONS_PER_METRIC,
                micros.p10() / OPERATIONS_PER_METRIC,
                micros.p90() / OPERATIONS_PER_METRIC);
    }

    private void verify(Tensor tensor, Runnable allreduce) {
        KnownValues.fill(comm, tensor, 0);
        allreduce.run();
        KnownValues.checkSums(comm, TENSOR_NAME, tensor, 0);
    }
}
