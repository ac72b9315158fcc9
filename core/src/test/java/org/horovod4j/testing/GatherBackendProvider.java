package org.horovod4j.testing;

import org.horovod4j.DataType;
import org.horovod4j.ReduceOp;
import org.horovod4j.Scale;
import org.horovod4j.Shape;
import org.horovod4j.Tensor;
import org.horovod4j.spi.Backend;
import org.horovod4j.spi.DevicePlace;
import org.horovod4j.spi.FusedTensors;
import org.horovod4j.spi.HostBackend;
import org.horovod4j.spi.HostBackendProvider;
import org.horovod4j.spi.HostCollectives;
import org.horovod4j.spi.HostContext;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.function.IntConsumer;
import java.util.function.IntFunction;

/// A backend for main memory as another project could write it: each rank gathers the bytes of all. It
/// has three collectives, and sums and averages of float32 alone.
///
/// `ServiceLoader` finds it in all tests of this module. Its preference is below that of core's backend,
/// so it runs only if an option names it.
public final class GatherBackendProvider implements HostBackendProvider {
    public static final String NAME = "GATHER";

    private static final List<String> CALLS = new CopyOnWriteArrayList<>();

    private final int preference;
    private final boolean available;
    private final String unsupportedReason;
    private final IntConsumer beforeReduction;
    private final IntConsumer onAbort;

    public GatherBackendProvider() {
        this(-1, true, "", _ -> {}, _ -> {});
    }

    private GatherBackendProvider(
            int preference,
            boolean available,
            String unsupportedReason,
            IntConsumer beforeReduction,
            IntConsumer onAbort) {
        this.preference = preference;
        this.available = available;
        this.unsupportedReason = unsupportedReason;
        this.beforeReduction = beforeReduction;
        this.onAbort = onAbort;
    }

    /// One that is preferred to core's backend.
    public static GatherBackendProvider preferred() {
        return new GatherBackendProvider(10, true, "", _ -> {}, _ -> {});
    }

    /// One whose library is missing.
    public static GatherBackendProvider unavailable() {
        return new GatherBackendProvider(10, false, "", _ -> {}, _ -> {});
    }

    /// One that does not support these ranks.
    public static GatherBackendProvider unsupported(String reason) {
        return new GatherBackendProvider(10, true, reason, _ -> {}, _ -> {});
    }

    /// One that runs a hook with the rank in each reduction and in each abort.
    public static GatherBackendProvider with(IntConsumer beforeReduction, IntConsumer onAbort) {
        return new GatherBackendProvider(10, true, "", beforeReduction, onAbort);
    }

    /// A world whose ranks have these backends beside that of core.
    public static World worldOf(int size, IntFunction<List<HostBackendProvider>> backends) {
        return World.of(size).withHostBackends(backends);
    }

    /// The collectives that all ranks of this JVM have called since the last call of this method.
    public static List<String> takeCalls() {
        List<String> calls = List.copyOf(CALLS);
        CALLS.clear();
        return calls;
    }

    @Override
    public String name() {
        return NAME;
    }

    @Override
    public int preference() {
        return preference;
    }

    @Override
    public Class<? extends HostBackend> backendType() {
        return GatherBackend.class;
    }

    @Override
    public boolean reduces(DataType dataType, ReduceOp op) {
        return dataType == DataType.FLOAT32 && (op == ReduceOp.SUM || op == ReduceOp.AVERAGE);
    }

    @Override
    public String describe() {
        return available ? "for tests" : "libgather.so is missing";
    }

    @Override
    public boolean isAvailable() {
        return available;
    }

    @Override
    public Optional<String> unsupportedReason(List<DevicePlace> places) {
        return unsupportedReason.isEmpty() ? Optional.empty() : Optional.of(unsupportedReason);
    }

    @Override
    public HostBackend create(HostContext context) {
        return new GatherBackend(context.host(), beforeReduction, onAbort);
    }

    private record GatherBackend(
            HostCollectives host, IntConsumer beforeReduction, IntConsumer onAbort)
            implements HostBackend,
                    Backend.SupportsAllreduce,
                    Backend.SupportsAllgather,
                    Backend.SupportsBroadcast {
        @Override
        public void allreduce(FusedTensors fusedTensors, ReduceOp op, Scale scale, int divisor) {
            CALLS.add("allreduce");
            beforeReduction.accept(host.rank());
            int count = Math.toIntExact(fusedTensors.elementCount());
            Tensor mine = Tensor.zeros(DataType.FLOAT32, Shape.of(count));
            fusedTensors.pack(0, count, mine.segment(), 0);
            float[] sum = new float[count];
            for (byte[] ofRank : host.allgather(mine.segment().toArray(ValueLayout.JAVA_BYTE))) {
                MemorySegment values = MemorySegment.ofArray(ofRank);
                for (int i = 0; i < count; i++) {
                    sum[i] +=
                            (float)
                                    (values.getAtIndex(ValueLayout.JAVA_FLOAT_UNALIGNED, i)
                                            * scale.prescale());
                }
            }
            double factor = scale.postscale() / (op == ReduceOp.AVERAGE ? divisor : 1);
            for (int i = 0; i < count; i++) {
                sum[i] = (float) (sum[i] * factor);
            }
            fusedTensors.unpack(Tensor.of(sum).segment(), 0, 0, count);
        }

        @Override
        public void allgather(List<Tensor> inputs, List<Tensor> outputs, long[][] rows) {
            CALLS.add("allgather");
            for (int i = 0; i < inputs.size(); i++) {
                MemorySegment output = outputs.get(i).segment();
                long start = 0;
                for (byte[] ofRank : host.allgather(bytes(inputs.get(i)))) {
                    MemorySegment.copy(
                            MemorySegment.ofArray(ofRank), 0, output, start, ofRank.length);
                    start += ofRank.length;
                }
            }
        }

        @Override
        public void broadcast(Tensor tensor, int rootRank) {
            CALLS.add("broadcast");
            byte[] ofRoot = host.allgather(bytes(tensor)).get(rootRank);
            tensor.segment().copyFrom(MemorySegment.ofArray(ofRoot));
        }

        private static byte[] bytes(Tensor tensor) {
            return tensor.segment().toArray(ValueLayout.JAVA_BYTE);
        }

        @Override
        public void abort() {
            onAbort.accept(host.rank());
        }

        @Override
        public void close() {}
    }
}
