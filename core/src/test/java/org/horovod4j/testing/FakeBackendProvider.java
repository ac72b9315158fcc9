package org.horovod4j.testing;

import static java.nio.charset.StandardCharsets.UTF_8;

import org.horovod4j.DataType;
import org.horovod4j.Device;
import org.horovod4j.DeviceStream;
import org.horovod4j.HorovodException;
import org.horovod4j.ReduceOp;
import org.horovod4j.Scale;
import org.horovod4j.Shape;
import org.horovod4j.Tensor;
import org.horovod4j.spi.Backend;
import org.horovod4j.spi.DeviceBackend;
import org.horovod4j.spi.DeviceBackendProvider;
import org.horovod4j.spi.DeviceContext;
import org.horovod4j.spi.DeviceEvent;
import org.horovod4j.spi.DevicePlace;
import org.horovod4j.spi.FusedTensors;
import org.jspecify.annotations.Nullable;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.UUID;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;
import java.util.function.Function;

/// A backend of fake devices for ranks of one JVM that works as NCCL does: it has an id that rank 0
/// makes, its work waits on the device for the other ranks, and only [DeviceBackend#abort] ends such a
/// wait. It has allreduce and broadcast alone, unless a test asks for more, and records what it launches.
public final class FakeBackendProvider implements DeviceBackendProvider {
    private static final Map<String, FakeGroup> GROUPS = new ConcurrentHashMap<>();

    private final String name;
    private final List<Launch> launches = new CopyOnWriteArrayList<>();
    private final List<Integer> aborts = new CopyOnWriteArrayList<>();
    private final List<Integer> closed = new CopyOnWriteArrayList<>();
    private volatile Class<? extends DeviceBackend> backendType = FakeBackend.class;
    private volatile boolean available = true;
    private volatile String unsupportedReason = "";
    private volatile String processInfo = "";
    private volatile @Nullable RuntimeException asynchronousError;
    private volatile String abortError = "";
    private volatile LaunchHook beforeLaunch = (_, _) -> {};
    private volatile LaunchHook afterLaunch = (_, _) -> {};
    private final List<List<DevicePlace>> places = new CopyOnWriteArrayList<>();

    /// What a rank does in a launch.
    public interface LaunchHook {
        void run(int rank, BooleanSupplier isAborted);
    }

    /// A collective that a rank has launched.
    ///
    /// @param tensors the number of fused tensors
    /// @param wireType the type in which they were sent
    public record Launch(int rank, String collective, int tensors, DataType wireType) {}

    public FakeBackendProvider(String name) {
        this.name = name;
    }

    /// Says that this process cannot use it.
    public FakeBackendProvider unavailable() {
        available = false;
        return this;
    }

    /// Lets it have reducescatter and allgather too, and a stream of its own for results.
    public FakeBackendProvider withReducescatterAndAllgather() {
        backendType = ScatteringBackend.class;
        return this;
    }

    /// Says that it cannot be used for any devices.
    public FakeBackendProvider withUnsupportedReason(String reason) {
        unsupportedReason = reason;
        return this;
    }

    /// Fails work that was launched.
    public void failAsynchronously(RuntimeException reason) {
        asynchronousError = reason;
    }

    /// Fails each abort, after it has ended the work.
    public void failAborts(String reason) {
        abortError = reason;
    }

    /// Publishes a text to the other ranks.
    public FakeBackendProvider withProcessInfo(String text) {
        processInfo = text;
        return this;
    }

    /// Runs in each launch, before any work is launched.
    public void beforeLaunch(LaunchHook hook) {
        beforeLaunch = hook;
    }

    /// Runs in each launch, when the work that waits for other ranks is launched.
    public void afterLaunch(LaunchHook hook) {
        afterLaunch = hook;
    }

    /// The devices of all ranks, as it was asked about them.
    public List<List<DevicePlace>> places() {
        return places;
    }

    /// What all ranks have launched.
    public List<Launch> launches() {
        return launches;
    }

    /// What a rank has launched.
    public List<Launch> launches(int rank) {
        return launches.stream().filter(launch -> launch.rank == rank).toList();
    }

    /// The ranks that have aborted their work.
    public List<Integer> aborts() {
        return aborts;
    }

    /// The ranks that have closed a backend.
    public List<Integer> closed() {
        return closed;
    }

    @Override
    public String name() {
        return name;
    }

    @Override
    public Device.Kind kind() {
        return Device.Kind.CUDA;
    }

    @Override
    public int preference() {
        return 100;
    }

    @Override
    public Class<? extends DeviceBackend> backendType() {
        return backendType;
    }

    @Override
    public boolean reduces(DataType dataType, ReduceOp op) {
        return dataType.isFloatingPoint();
    }

    @Override
    public String describe() {
        return available ? "%s for tests".formatted(name) : "lib%s.so is missing".formatted(name);
    }

    @Override
    public boolean isAvailable() {
        return available;
    }

    @Override
    public String processInfo() {
        return processInfo;
    }

    @Override
    public Optional<String> unsupportedReason(List<DevicePlace> ofRanks) {
        places.add(ofRanks);
        return unsupportedReason.isEmpty() ? Optional.empty() : Optional.of(unsupportedReason);
    }

    @Override
    public DeviceBackend create(DeviceContext context) {
        byte[] id =
                context.host().rank() == 0
                        ? UUID.randomUUID().toString().getBytes(UTF_8)
                        : new byte[0];
        String shared = new String(context.host().allgather(id).getFirst(), UTF_8);
        FakeGroup group = GROUPS.computeIfAbsent(shared, _ -> new FakeGroup(context.host().size()));
        return backendType == FakeBackend.class
                ? new FakeBackend(context, group, context.stream())
                : new ScatteringBackend(context, group);
    }

    /// The ranks of a backend.
    private static final class FakeGroup {
        private final int size;
        private final Map<Long, double[][]> exchanges = new ConcurrentHashMap<>();

        FakeGroup(int size) {
            this.size = size;
        }

        /// Waits for the values of all ranks.
        ///
        /// @return null if it is aborted
        double @Nullable [][] exchange(
                long number, int rank, double[] mine, BooleanSupplier isAborted) {
            double[][] all = exchanges.computeIfAbsent(number, _ -> new double[size][]);
            synchronized (all) {
                all[rank] = mine;
            }
            while (!isComplete(all)) {
                if (isAborted.getAsBoolean()) {
                    return null;
                }
                LockSupport.parkNanos(20_000);
            }
            return all;
        }

        private static boolean isComplete(double[][] all) {
            synchronized (all) {
                for (double[] ofRank : all) {
                    if (ofRank == null) {
                        return false;
                    }
                }
                return true;
            }
        }
    }

    private class FakeBackend
            implements DeviceBackend, Backend.SupportsAllreduce, Backend.SupportsBroadcast {
        final DeviceContext context;
        final int rank;
        private final FakeGroup group;
        private final DeviceStream results;
        private volatile boolean aborted;
        private long number;

        /// All buffers so far: work that was launched may still use one that is too small now.
        private final List<Tensor> buffers = new ArrayList<>();

        FakeBackend(DeviceContext context, FakeGroup group, DeviceStream results) {
            this.context = context;
            this.group = group;
            this.results = results;
            this.rank = context.host().rank();
        }

        @Override
        public void allreduce(FusedTensors fusedTensors, ReduceOp op, Scale scale, int divisor) {
            launches.add(
                    new Launch(
                            rank,
                            "allreduce",
                            fusedTensors.tensorCount(),
                            fusedTensors.wireType()));
            reduce(fusedTensors, op, scale, divisor, name + "_ALLREDUCE");
        }

        void reduce(
                FusedTensors fusedTensors, ReduceOp op, Scale scale, int divisor, String activity) {
            long count = fusedTensors.elementCount();
            DataType wireType = fusedTensors.wireType();
            if (buffers.isEmpty() || buffers.getLast().byteSize() < count * wireType.byteSize()) {
                buffers.add(context.driver().allocate(DataType.UINT8, Shape.of(8 * count)));
            }
            long address = buffers.getLast().deviceAddress();
            context.driver()
                    .pack(fusedTensors, 0, count, scale.prescale(), address, context.stream());
            context.activities().launched("MEMCPY_IN_FUSION_BUFFER");
            exchange(address, address, wireType, count, all -> reduce(all, op));
            context.activities().launched(activity);
            double after = scale.postscale() / (op == ReduceOp.AVERAGE ? divisor : 1);
            context.driver().unpack(fusedTensors, address, 0, count, after, results);
            context.activities().launched("MEMCPY_OUT_FUSION_BUFFER");
        }

        @Override
        public void broadcast(Tensor tensor, int rootRank) {
            launches.add(new Launch(rank, "broadcast", 1, tensor.dataType()));
            exchange(
                    tensor.deviceAddress(),
                    tensor.deviceAddress(),
                    tensor.dataType(),
                    tensor.elementCount(),
                    all -> all[rootRank]);
            context.activities().launched(name + "_BCAST");
        }

        /// @param count the elements of this rank
        void exchange(
                long source,
                long target,
                DataType dataType,
                long count,
                Function<double[][], double[]> result) {
            if (aborted) {
                throw new HorovodException(name + " was aborted");
            }
            beforeLaunch.run(rank, () -> aborted);
            long current = number++;
            DeviceEvent written = context.driver().record(context.stream());
            written.awaitOn(results);
            written.release();
            FakeStream.of(results)
                    .launch(
                            () -> {
                                double @Nullable [][] all =
                                        group.exchange(
                                                current,
                                                rank,
                                                values(memory(source, dataType, count)),
                                                () -> aborted);
                                if (all != null) {
                                    double[] values = result.apply(all);
                                    store(values, memory(target, dataType, values.length));
                                }
                            });
            afterLaunch.run(rank, () -> aborted);
        }

        private static Tensor memory(long address, DataType dataType, long count) {
            return Tensor.of(
                    FakeDriver.memory(address, count * dataType.byteSize()),
                    dataType,
                    Shape.of(count));
        }

        private static double[] values(Tensor tensor) {
            Elements elements = Elements.of(tensor);
            double[] values = new double[elements.count()];
            Arrays.setAll(values, elements::real);
            return values;
        }

        private static void store(double[] values, Tensor tensor) {
            Elements elements = Elements.zerosFor(tensor);
            for (int i = 0; i < values.length; i++) {
                elements.set(i, values[i]);
            }
            Tensor _ = elements.store();
        }

        private static double[] reduce(double[][] all, ReduceOp op) {
            double[] result = all[0].clone();
            for (int r = 1; r < all.length; r++) {
                for (int i = 0; i < result.length; i++) {
                    double next = all[r][i];
                    result[i] =
                            switch (op) {
                                case SUM, AVERAGE -> result[i] + next;
                                case PRODUCT -> result[i] * next;
                                case MIN -> Math.min(result[i], next);
                                case MAX -> Math.max(result[i], next);
                                case ADASUM -> throw new IllegalArgumentException("no Adasum");
                            };
                }
            }
            return result;
        }

        @Override
        public DeviceStream resultStream(DeviceStream stream) {
            return results;
        }

        @Override
        public void check() {
            RuntimeException error = asynchronousError;
            if (error != null) {
                throw error;
            }
        }

        @Override
        public void abort() {
            aborted = true;
            aborts.add(rank);
            if (!abortError.isEmpty()) {
                throw new HorovodException(abortError);
            }
        }

        @Override
        public void close() {
            closed.add(rank);
            if (!results.equals(context.stream())) {
                context.driver().closeStream(results);
            }
        }
    }

    private final class ScatteringBackend extends FakeBackend
            implements Backend.SupportsReducescatter, Backend.SupportsAllgather {
        ScatteringBackend(DeviceContext context, FakeGroup group) {
            super(context, group, context.driver().openStream(true));
        }

        @Override
        public void reducescatter(
                FusedTensors fusedTensors, ReduceOp op, Scale scale, int divisor) {
            launches.add(
                    new Launch(
                            rank,
                            "reducescatter",
                            fusedTensors.tensorCount(),
                            fusedTensors.wireType()));
            reduce(fusedTensors, op, scale, divisor, name + "_REDUCESCATTER");
        }

        @Override
        public void allgather(List<Tensor> inputs, List<Tensor> outputs, long[][] rows) {
            launches.add(
                    new Launch(rank, "allgather", inputs.size(), inputs.getFirst().dataType()));
            for (int i = 0; i < inputs.size(); i++) {
                exchange(
                        inputs.get(i).deviceAddress(),
                        outputs.get(i).deviceAddress(),
                        inputs.get(i).dataType(),
                        inputs.get(i).elementCount(),
                        all -> Arrays.stream(all).flatMapToDouble(Arrays::stream).toArray());
            }
            context.activities().launched(name + "_ALLGATHER");
        }
    }
}
