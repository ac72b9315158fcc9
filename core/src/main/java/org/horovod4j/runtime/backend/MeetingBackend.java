package org.horovod4j.runtime.backend;

import org.horovod4j.AlltoallResult;
import org.horovod4j.DataType;
import org.horovod4j.HorovodException;
import org.horovod4j.ReduceOp;
import org.horovod4j.Scale;
import org.horovod4j.Shape;
import org.horovod4j.Tensor;
import org.horovod4j.runtime.backend.BackendChoice.Capability;
import org.horovod4j.runtime.controller.ProcessSetState;
import org.horovod4j.runtime.timeline.ActivityLog;
import org.horovod4j.spi.Activity;
import org.horovod4j.spi.Backend;
import org.horovod4j.spi.BackendProvider;
import org.horovod4j.spi.CancellableBackend;
import org.horovod4j.spi.FusedTensors;
import org.horovod4j.spi.HostBackend;
import org.horovod4j.spi.Tuning;
import org.jspecify.annotations.Nullable;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.function.Supplier;

/// Makes backends that cannot cancel a collective cancellable: the ranks meet before each call.
///
/// The meeting is a collective of core's backend, which can be cancelled. Once it has ended, all ranks
/// have reached the batch, so none cancels it. What the other backends do not have, core's backend runs.
final class MeetingBackend implements CancellableBackend {
    private final CancellableBackend cpu;
    private final LaunchHostCollectives host;
    private final BackendChoice<BackendProvider> choice;
    private final Map<String, HostBackend> backends;
    private final BackendMonitor monitor;
    private final ProcessSetState state;
    private final ActivityLog activities;

    /// @param cpu the backend of core; closed with this one
    /// @param host its collectives
    /// @param backends by name; closed with this one
    /// @param monitor of these backends
    MeetingBackend(
            CancellableBackend cpu,
            LaunchHostCollectives host,
            BackendChoice<BackendProvider> choice,
            Map<String, HostBackend> backends,
            BackendMonitor monitor,
            ProcessSetState state,
            ActivityLog activities) {
        this.cpu = cpu;
        this.host = host;
        this.choice = choice;
        this.backends = Map.copyOf(backends);
        this.monitor = monitor;
        this.state = state;
        this.activities = activities;
    }

    /// A call of a backend, watched by the monitor until it returns.
    private static final class RunningCall implements BackendMonitor.WatchedBatch {
        private final long number;
        private volatile boolean ended;
        private volatile @Nullable HorovodException failure;

        RunningCall(long number) {
            this.number = number;
        }

        @Override
        public long number() {
            return number;
        }

        @Override
        public boolean isEnded() {
            return ended;
        }

        @Override
        public @Nullable HorovodException failure() {
            return failure;
        }

        @Override
        public synchronized void fail(HorovodException reason) {
            if (!ended) {
                failure = reason;
                ended = true;
            }
        }

        /// Records that it has returned, unless it has failed.
        synchronized void end() {
            ended = true;
        }

        void checkFailure() {
            HorovodException noticed = failure;
            if (noticed != null) {
                throw noticed.atCaller();
            }
        }
    }

    /// The backend that is chosen for a collective, and its name; null for that of core.
    private @Nullable Chosen chosen(Capability capability, DataType dataType, ReduceOp op) {
        String name = choice.find(capability, dataType, op).map(BackendProvider::name).orElse("");
        HostBackend backend = backends.get(name);
        return backend == null ? null : new Chosen(name, backend);
    }

    private record Chosen(String name, HostBackend backend) {}

    /// The data type and the op do not matter to collectives that only move rows.
    private @Nullable Chosen chosen(Capability capability) {
        return chosen(capability, DataType.UINT8, ReduceOp.SUM);
    }

    /// Returns when all ranks have reached the batch. Until then it can be cancelled.
    private <T> T meet(long stamp, Supplier<T> collective) {
        long since = activities.begin();
        host.begin(stamp);
        T result = collective.get();
        long _ = activities.end(Activity.WAIT_FOR_DATA, since);
        return result;
    }

    private void meet(long stamp) {
        boolean _ =
                meet(
                        stamp,
                        () -> {
                            host.barrier();
                            return true;
                        });
    }

    /// Calls a backend. It cannot be cancelled, so the monitor ends it if a rank is lost.
    private void call(Chosen chosen, String collective, Runnable action) {
        RunningCall running = new RunningCall(state.nextBatch());
        long since = activities.begin();
        monitor.watch(running);
        running.checkFailure(); // an earlier batch may have failed
        try {
            action.run();
        } catch (RuntimeException | Error e) {
            throw monitor.aborted(e);
        }
        running.end();
        running.checkFailure();
        activities.record(chosen.name + "_" + collective, since);
    }

    @Override
    public void allreduce(
            long stamp, FusedTensors fusedTensors, ReduceOp op, Scale scale, int divisor) {
        Chosen chosen = chosen(Capability.ALLREDUCE, fusedTensors.dataType(), op);
        if (chosen == null) {
            cpu.allreduce(stamp, fusedTensors, op, scale, divisor);
            return;
        }
        meet(stamp);
        Backend.SupportsAllreduce backend = (Backend.SupportsAllreduce) chosen.backend;
        call(chosen, "ALLREDUCE", () -> backend.allreduce(fusedTensors, op, scale, divisor));
    }

    @Override
    public void adasum(long stamp, FusedTensors fusedTensors, Scale scale) {
        Chosen chosen = chosen(Capability.ADASUM, fusedTensors.dataType(), ReduceOp.ADASUM);
        if (chosen == null) {
            cpu.adasum(stamp, fusedTensors, scale);
            return;
        }
        meet(stamp);
        Backend.SupportsAdasum backend = (Backend.SupportsAdasum) chosen.backend;
        call(chosen, "ADASUM", () -> backend.adasum(fusedTensors, scale));
    }

    @Override
    public void crossAllreduce(long stamp, FusedTensors fusedTensors, ReduceOp op) {
        cpu.crossAllreduce(stamp, fusedTensors, op);
    }

    @Override
    public void reducescatter(
            long stamp, FusedTensors fusedTensors, ReduceOp op, Scale scale, int divisor) {
        Chosen chosen = chosen(Capability.REDUCESCATTER, fusedTensors.dataType(), op);
        if (chosen == null) {
            cpu.reducescatter(stamp, fusedTensors, op, scale, divisor);
            return;
        }
        meet(stamp);
        Backend.SupportsReducescatter backend = (Backend.SupportsReducescatter) chosen.backend;
        call(
                chosen,
                "REDUCESCATTER",
                () -> backend.reducescatter(fusedTensors, op, scale, divisor));
    }

    @Override
    public List<Tensor> allgather(long stamp, List<Tensor> tensors) {
        Chosen chosen = chosen(Capability.ALLGATHER);
        if (chosen == null) {
            return cpu.allgather(stamp, tensors);
        }
        long[] mine = tensors.stream().mapToLong(each -> each.shape().dimension(0)).toArray();
        long[][] rows = meet(stamp, () -> host.allgather(mine));
        List<Tensor> outputs = new ArrayList<>(tensors.size());
        for (int i = 0; i < tensors.size(); i++) {
            int tensor = i;
            long total = Arrays.stream(rows).mapToLong(ofRank -> ofRank[tensor]).sum();
            outputs.add(withRows(tensors.get(i), total));
        }
        Backend.SupportsAllgather backend = (Backend.SupportsAllgather) chosen.backend;
        call(chosen, "ALLGATHER", () -> backend.allgather(tensors, outputs, rows));
        return outputs;
    }

    @Override
    public void broadcast(long stamp, Tensor tensor, int rootRank) {
        Chosen chosen = chosen(Capability.BROADCAST);
        if (chosen == null) {
            cpu.broadcast(stamp, tensor, rootRank);
            return;
        }
        meet(stamp);
        Backend.SupportsBroadcast backend = (Backend.SupportsBroadcast) chosen.backend;
        call(chosen, "BCAST", () -> backend.broadcast(tensor, rootRank));
    }

    @Override
    public AlltoallResult alltoall(long stamp, Tensor tensor, int[] splits) {
        Chosen chosen = chosen(Capability.ALLTOALL);
        if (chosen == null) {
            return cpu.alltoall(stamp, tensor, splits);
        }
        long[] mine = Arrays.stream(splits).asLongStream().toArray();
        long[][] rows = meet(stamp, () -> host.allgather(mine));
        int[] received =
                Arrays.stream(rows)
                        .mapToInt(ofRank -> Math.toIntExact(ofRank[host.rank()]))
                        .toArray();
        Tensor output = withRows(tensor, Arrays.stream(received).asLongStream().sum());
        Backend.SupportsAlltoall backend = (Backend.SupportsAlltoall) chosen.backend;
        call(chosen, "ALLTOALL", () -> backend.alltoall(tensor, output, rows));
        return new AlltoallResult(output, received);
    }

    private static Tensor withRows(Tensor tensor, long rows) {
        return Tensor.zeros(tensor.dataType(), tensor.shape().withRows(rows));
    }

    @Override
    public Tensor allocate(DataType dataType, Shape shape) {
        return cpu.allocate(dataType, shape);
    }

    @Override
    public boolean isShared(Tensor tensor) {
        return cpu.isShared(tensor);
    }

    @Override
    public void barrier(long stamp) {
        cpu.barrier(stamp);
    }

    /// Nothing is fused outside of plans: the bits of a backend may depend on what is fused.
    @Override
    public long reproducibleFusionBytes() {
        return 0;
    }

    @Override
    public void tune(Tuning tuning) {
        cpu.tune(tuning);
    }

    /// The other backends have no state of a batch that was cancelled.
    @Override
    public void reset() {
        cpu.reset();
    }

    @Override
    public void close() {
        Cleanup cleanup = new Cleanup();
        monitor.close();
        backends.values().forEach(each -> cleanup.run(each::close));
        cleanup.run(cpu::close);
        cleanup.end();
    }
}
