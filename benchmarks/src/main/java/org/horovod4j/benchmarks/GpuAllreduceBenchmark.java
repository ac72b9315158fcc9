package org.horovod4j.benchmarks;

import org.horovod4j.Communicator;
import org.horovod4j.DataType;
import org.horovod4j.Device;
import org.horovod4j.DeviceStream;
import org.horovod4j.Hvd;
import org.horovod4j.ReduceOp;
import org.horovod4j.Shape;
import org.horovod4j.Tensor;
import org.horovod4j.benchmarks.report.Percentiles;
import org.horovod4j.benchmarks.report.Result;
import org.horovod4j.spi.DeviceDriver;
import org.horovod4j.spi.DeviceEvent;
import org.horovod4j.spi.DeviceProvider;

import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Arrays;
import java.util.Locale;
import java.util.Objects;
import java.util.ServiceLoader;

/// Times an in-place allreduce of floats on a GPU beside the same work without the runtime, and appends
/// a [Result] for each size and program to a file.
///
/// Arguments: BACKEND ROUND OUTPUT SECONDS SIZES. BACKEND is the value of `HOROVOD_GPU_OPERATIONS`, for
/// the name of the program in the results. With `NCCL` the other program is `nccl`: plain calls of
/// `ncclAllReduce`. With `HOST` it is `copies`: copies of as many bytes from the GPU to pinned memory
/// and back, both at the same time, as no exchange through main memory can be faster.
public final class GpuAllreduceBenchmark {
    private static final int ARGUMENTS = 5;

    /// The GPU does the work, so the code of the JVM matters less than in main memory.
    private static final double WARM_UP_SECONDS = 1;

    private static final String TENSOR_NAME = "values";
    private static final String TRANSPORT = "gpu";

    private final Communicator comm;
    private final DeviceDriver driver;
    private final CollectiveTimer timer;

    private GpuAllreduceBenchmark(Communicator comm, DeviceDriver driver, Duration timed) {
        this.comm = comm;
        this.driver = driver;
        this.timer = new CollectiveTimer(comm, timed, WARM_UP_SECONDS);
    }

    public static void main(String[] arguments) throws IOException {
        if (arguments.length != ARGUMENTS) {
            throw new IllegalArgumentException(
                    "arguments are BACKEND ROUND OUTPUT SECONDS SIZES, found "
                            + Arrays.toString(arguments));
        }
        String backend = arguments[0];
        int round = Integer.parseInt(arguments[1]);
        Path output = Path.of(arguments[2]);
        Duration timed = Duration.ofNanos((long) (Double.parseDouble(arguments[3]) * 1e9));
        long[] byteSizes =
                Arrays.stream(arguments[4].split(",")).mapToLong(Long::parseLong).toArray();

        Hvd.init();
        try (DeviceDriver driver = open(Hvd.communicator())) {
            Communicator comm = Hvd.communicator();
            GpuAllreduceBenchmark benchmark = new GpuAllreduceBenchmark(comm, driver, timed);
            for (long byteSize : byteSizes) {
                Appender appender =
                        (program, micros) -> {
                            if (comm.rank() == 0) {
                                new Result(
                                                program,
                                                TRANSPORT,
                                                comm.size(),
                                                byteSize,
                                                round,
                                                1,
                                                micros)
                                        .appendTo(output);
                            }
                        };
                Tensor tensor =
                        comm.allocate(
                                driver.device(),
                                DataType.FLOAT32,
                                Shape.of(byteSize / Float.BYTES));
                appender.append(
                        "horovod4j-" + backend.toLowerCase(Locale.ROOT),
                        benchmark.timeRuntime(tensor));
                switch (backend) {
                    case "NCCL" -> appender.append("nccl", benchmark.timeNccl(tensor));
                    case "HOST" -> appender.append("copies", benchmark.timeCopies(tensor));
                    default -> {}
                }
            }
        } finally {
            Hvd.shutdown();
        }
    }

    private interface Appender {
        void append(String program, Percentiles micros) throws IOException;
    }

    /// A driver beside that of the runtime, for the GPU of this rank; ranks may share one.
    private static DeviceDriver open(Communicator comm) {
        DeviceProvider provider =
                ServiceLoader.load(DeviceProvider.class).stream()
                        .map(ServiceLoader.Provider::get)
                        .filter(each -> each.kind() == Device.Kind.CUDA && each.count() > 0)
                        .findFirst()
                        .orElseThrow(
                                () ->
                                        new IllegalStateException(
                                                "this needs horovod4j-cuda and a GPU of NVIDIA"));
        return provider.open(comm.localRank() % provider.count());
    }

    private Percentiles timeRuntime(Tensor tensor) {
        Runnable allreduce = () -> comm.allreduce(TENSOR_NAME, tensor, ReduceOp.SUM);
        verify(tensor, allreduce);
        fillWithZeros(tensor);
        Percentiles micros = timer.time(allreduce);
        verify(tensor, allreduce);
        return micros;
    }

    private void verify(Tensor tensor, Runnable allreduce) {
        Tensor onHost = comm.allocate(DataType.FLOAT32, tensor.shape());
        KnownValues.fill(comm, onHost, 0);
        comm.copy(onHost, tensor);
        allreduce.run();
        comm.copy(tensor, onHost);
        KnownValues.checkSums(comm, TENSOR_NAME, onHost, 0);
    }

    /// Zeros remain zeros. The sums of other values would overflow.
    private void fillWithZeros(Tensor tensor) {
        comm.copy(Tensor.zeros(DataType.FLOAT32, tensor.shape()), tensor);
    }

    private Percentiles timeNccl(Tensor tensor) {
        driver.bind();
        DeviceStream stream = driver.openStream(false);
        try (PlainNccl nccl = new PlainNccl(comm)) {
            Runnable allreduce =
                    () -> {
                        nccl.sumFloats(
                                tensor.deviceAddress(), tensor.elementCount(), stream.handle());
                        await(stream);
                    };
            verify(tensor, allreduce);
            fillWithZeros(tensor);
            return timer.time(allreduce);
        } finally {
            driver.closeStream(stream);
        }
    }

    private Percentiles timeCopies(Tensor tensor) {
        DeviceStream down = driver.openStream(false);
        DeviceStream up = driver.openStream(false);
        Tensor target = comm.allocate(DataType.FLOAT32, tensor.shape());
        Tensor source = comm.allocate(DataType.FLOAT32, tensor.shape());
        Tensor received = comm.allocate(driver.device(), DataType.FLOAT32, tensor.shape());
        try (DeviceDriver.PinnedMemory _ = driver.pin(target.segment());
                DeviceDriver.PinnedMemory _ = driver.pin(source.segment())) {
            return timer.time(
                    () -> {
                        driver.copyToHost(tensor.deviceAddress(), target.segment(), down);
                        driver.copyToDevice(source.segment(), received.deviceAddress(), up);
                        await(down);
                        await(up);
                    });
        } finally {
            driver.closeStream(down);
            driver.closeStream(up);
        }
    }

    private void await(DeviceStream stream) {
        DeviceEvent end = Objects.requireNonNull(driver.record(stream));
        while (!end.isComplete()) {
            Thread.onSpinWait();
        }
        end.release();
    }
}
