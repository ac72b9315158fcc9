package org.horovod4j.benchmarks;

import org.horovod4j.Communicator;
import org.horovod4j.Hvd;
import org.horovod4j.ReduceOp;
import org.horovod4j.Tensor;
import org.horovod4j.benchmarks.report.Percentiles;
import org.horovod4j.benchmarks.report.Result;

import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Arrays;

/// Times an in-place allreduce of floats for several sizes, and appends a [Result] for each size to
/// a file.
///
/// Arguments: KIND TRANSPORT OUTPUT SECONDS SIZES. KIND is the [MemoryKind], optionally followed by
/// a dash and a label, such as `native-tls`. TRANSPORT is the name of the transport in the results;
/// `HOROVOD_TRANSPORT` selects the transport itself. OUTPUT is the file, SECONDS the measuring time
/// for each size, and SIZES a comma-separated list of byte sizes.
///
/// One job measures one memory kind, like a training program. Code that the JIT compiled for
/// several kinds can be slower for each of them.
public final class AllreduceBenchmark {
    private static final int ARGUMENTS = 5;

    private final Communicator comm;
    private final MemoryKind memory;
    private final CollectiveTimer timer;

    private AllreduceBenchmark(Communicator comm, MemoryKind memory, Duration timed) {
        this.comm = comm;
        this.memory = memory;
        this.timer = new CollectiveTimer(comm, timed);
    }

    public static void main(String[] arguments) throws IOException {
        if (arguments.length != ARGUMENTS) {
            throw new IllegalArgumentException(
                    "arguments are KIND TRANSPORT OUTPUT SECONDS SIZES, found "
                            + Arrays.toString(arguments));
        }
        MemoryKind kind = MemoryKind.parse(arguments[0].split("-", 2)[0]);
        String program = "horovod4j-" + arguments[0];
        String transport = arguments[1];
        Path output = Path.of(arguments[2]);
        Duration timed = Duration.ofNanos((long) (Double.parseDouble(arguments[3]) * 1e9));
        int[] byteSizes =
                Arrays.stream(arguments[4].split(",")).mapToInt(Integer::parseInt).toArray();

        Hvd.init();
        try {
            Communicator comm = Hvd.communicator();
            AllreduceBenchmark benchmark = new AllreduceBenchmark(comm, kind, timed);
            for (int byteSize : byteSizes) {
                Percentiles micros = benchmark.measure(byteSize);
                if (comm.rank() == 0) {
                    new Result(program, transport, comm.size(), byteSize, micros).appendTo(output);
                }
            }
        } finally {
            Hvd.shutdown();
        }
    }

    private Percentiles measure(int byteSize) {
        Tensor tensor = memory.allocate(comm, byteSize / Float.BYTES);
        verify(tensor);
        // Zeros remain zeros. The sums of other values would overflow.
        tensor.segment().fill((byte) 0);
        return timer.time(() -> comm.allreduce("values", tensor, ReduceOp.SUM));
    }

    /// Fails if a sum is wrong: the time of a wrong result is meaningless.
    private void verify(Tensor tensor) {
        MemorySegment values = tensor.segment();
        for (long i = 0; i < tensor.elementCount(); i++) {
            values.setAtIndex(ValueLayout.JAVA_FLOAT, i, comm.rank() + 1f);
        }
        comm.allreduce("values", tensor, ReduceOp.SUM);
        float expected = comm.size() * (comm.size() + 1) / 2f;
        for (long i = 0; i < tensor.elementCount(); i++) {
            float found = values.getAtIndex(ValueLayout.JAVA_FLOAT, i);
            if (found != expected) {
                throw new IllegalStateException(
                        "allreduce of %d bytes on rank %d: element %d is %s, not %s"
                                .formatted(tensor.byteSize(), comm.rank(), i, found, expected));
            }
        }
    }
}
