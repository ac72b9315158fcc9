package org.horovod4j.runtime.device;

import org.horovod4j.AlltoallResult;
import org.horovod4j.ConfigurationException;
import org.horovod4j.DeviceStream;
import org.horovod4j.HorovodException;
import org.horovod4j.ReduceOp;
import org.horovod4j.Shape;
import org.horovod4j.Tensor;
import org.horovod4j.runtime.backend.BackendChoice;
import org.horovod4j.runtime.backend.BackendMonitor;
import org.horovod4j.runtime.backend.Cleanup;
import org.horovod4j.runtime.backend.LaunchHostCollectives;
import org.horovod4j.runtime.controller.ProcessSetState;
import org.horovod4j.runtime.dispatch.NeutralTensors;
import org.horovod4j.runtime.fusion.Batch;
import org.horovod4j.runtime.message.Request;
import org.horovod4j.runtime.queue.Operation;
import org.horovod4j.runtime.queue.TensorEntry;
import org.horovod4j.runtime.timeline.ActivityLog;
import org.horovod4j.spi.Activity;
import org.horovod4j.spi.Backend;
import org.horovod4j.spi.DeviceBackend;
import org.horovod4j.spi.DeviceBackendProvider;
import org.horovod4j.spi.DeviceContext;
import org.horovod4j.spi.DeviceDriver;
import org.horovod4j.spi.DeviceEvent;
import org.horovod4j.spi.FusedTensors;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/// Launches batches on the device of a rank: creates the backends, and passes them the tensors of a batch.
///
/// One thread at a time uses it, except for [#backends].
final class DeviceLauncher {
    private final DeviceDriver driver;
    private final BackendChoice<DeviceBackendProvider> choice;
    private final LaunchHostCollectives hostCollectives;
    private final int rank;
    private final ProcessSetState state;
    private final BackendMonitor monitor;
    private final ActivityLog activities;
    private final DeviceStream stream;
    private final Map<String, DeviceBackend> created = new HashMap<>();
    private volatile List<DeviceBackend> backends = List.of();

    /// The start of what is launched now; 0 while no trace is recorded.
    private long launchedSince;

    /// The result stream of the backend that launches now.
    private DeviceStream resultStream;

    /// @param rank this rank in the process set
    DeviceLauncher(
            DeviceDriver driver,
            BackendChoice<DeviceBackendProvider> choice,
            LaunchHostCollectives hostCollectives,
            int rank,
            ProcessSetState state,
            BackendMonitor monitor,
            ActivityLog activities) {
        this.driver = driver;
        this.choice = choice;
        this.hostCollectives = hostCollectives;
        this.rank = rank;
        this.state = state;
        this.monitor = monitor;
        this.activities = activities;
        this.stream = driver.openStream(true);
        this.resultStream = stream;
    }

    List<DeviceBackend> backends() {
        return backends;
    }

    /// The backend for an operation, which all ranks create together when they first need it.
    DeviceBackend backend(Request request) {
        DeviceBackendProvider provider = choice.of(request);
        DeviceBackend known = created.get(provider.name());
        if (known != null) {
            return known;
        }
        DeviceBackend backend = create(provider);
        created.put(provider.name(), backend);
        backends = List.copyOf(created.values());
        return backend;
    }

    private DeviceBackend create(DeviceBackendProvider provider) {
        long since = activities.begin();
        try {
            return provider.create(
                    new DeviceContext(
                            driver, stream, hostCollectives, choice.places(), this::launched));
        } catch (ConfigurationException e) {
            // Other ranks may have succeeded, so it is not a failure of this operation alone.
            throw monitor.explain(
                    new HorovodException(
                            "%s could not be started: %s"
                                    .formatted(provider.name(), e.getMessage()),
                            e));
        } catch (HorovodException e) {
            throw monitor.explain(e);
        } finally {
            activities.record("INIT_" + provider.name(), since);
        }
    }

    /// Times what was launched, while a trace is recorded.
    private void launched(String activity) {
        if (launchedSince != 0) {
            hostCollectives.await(driver.record(stream));
            if (!resultStream.equals(stream)) {
                hostCollectives.await(driver.record(resultStream));
            }
            launchedSince = activities.record(activity, launchedSince);
        }
    }

    /// The monitor watches the batch from now on, because the launch may wait for other ranks. If
    /// the launch fails, a part of it may run, and is aborted.
    void launch(Batch batch, DeviceBackend backend, long[][] meeting, int divisor) {
        LaunchedBatch launched = new LaunchedBatch(state.nextBatch());
        monitor.watch(launched);
        try {
            List<Object> tensors = launchWork(batch, backend, meeting, divisor);
            launched.launched(driver.record(resultStream), tensors);
        } catch (RuntimeException | Error e) {
            throw monitor.aborted(e);
        }
        finish(batch, launched);
    }

    /// @return the tensors that the work uses
    private List<Object> launchWork(
            Batch batch, DeviceBackend backend, long[][] meeting, int divisor) {
        launchedSince = activities.begin();
        resultStream = backend.resultStream(stream);
        List<Object> tensors = new ArrayList<>();
        awaitInputs(batch);
        switch (batch.first().collectiveKind()) {
            case ALLREDUCE -> allreduce(batch, backend, divisor, tensors);
            case REDUCESCATTER -> reducescatter(batch, backend, divisor, tensors);
            case ALLGATHER -> allgather(batch, backend, meeting, tensors);
            case BROADCAST -> broadcast(batch, backend, tensors);
            case ALLTOALL -> alltoall(batch, backend, meeting, tensors);
            case BARRIER -> throw new IllegalArgumentException("a barrier has no device");
        }
        return tensors;
    }

    /// Lets the stream wait for all inputs. Threads may submit in another order than they have
    /// recorded the events, so the last entry of a stream need not have its last event.
    private void awaitInputs(Batch batch) {
        boolean waits = false;
        for (int i = 0; i < batch.size(); i++) {
            TensorEntry<?> entry = batch.entry(i);
            DeviceEvent ready = entry == null ? null : entry.readyEvent();
            if (ready != null) {
                ready.awaitOn(stream);
                waits = true;
            }
        }
        if (waits) {
            launched(Activity.WAIT_FOR_DATA.name());
        }
    }

    private void allreduce(Batch batch, DeviceBackend backend, int divisor, List<Object> tensors) {
        Request first = batch.first();
        FusedTensors fusedTensors = batch.fusedTensors();
        if (fusedTensors == null) {
            fusedTensors =
                    new FusedTensors(
                            first.dataType(),
                            first.wireType(),
                            batch.requests().stream()
                                    .mapToLong(request -> request.shape().elementCount())
                                    .toArray());
            batch.setFusedTensors(fusedTensors);
        }
        for (int i = 0; i < batch.size(); i++) {
            TensorEntry<?> entry = batch.entry(i);
            Tensor from = entry == null ? neutral(batch.requests().get(i)) : input(entry);
            Tensor to = entry == null ? from : ((Operation.Allreduce) entry.operation()).output();
            fusedTensors.setAddresses(i, from.deviceAddress(), to.deviceAddress());
            tensors.add(from);
            tensors.add(to);
            batch.result(i, to.ready());
        }
        if (first.op() == ReduceOp.ADASUM) {
            ((Backend.SupportsAdasum) backend).adasum(fusedTensors, first.scale());
        } else {
            ((Backend.SupportsAllreduce) backend)
                    .allreduce(fusedTensors, first.op(), first.scale(), divisor);
        }
    }

    private void reducescatter(
            Batch batch, DeviceBackend backend, int divisor, List<Object> tensors) {
        Request first = batch.first();
        FusedTensors fusedTensors = batch.fusedTensors();
        int size = hostCollectives.size();
        if (fusedTensors == null) {
            List<Shape> shapes = batch.requests().stream().map(Request::shape).toList();
            fusedTensors = FusedTensors.forReducescatter(first.dataType(), shapes, rank, size);
            batch.setFusedTensors(fusedTensors);
        }
        for (int i = 0; i < batch.size(); i++) {
            Request request = batch.requests().get(i);
            TensorEntry<?> entry = batch.entry(i);
            Tensor from = entry == null ? neutral(request) : input(entry);
            long all = request.shape().dimension(0);
            long rows =
                    FusedTensors.firstRow(all, rank + 1, size)
                            - FusedTensors.firstRow(all, rank, size);
            Tensor to = driver.allocate(request.dataType(), request.shape().withRows(rows));
            fusedTensors.setAddresses(i, from.deviceAddress(), to.deviceAddress());
            tensors.add(from);
            tensors.add(to);
            batch.result(i, to.ready());
        }
        ((Backend.SupportsReducescatter) backend)
                .reducescatter(fusedTensors, first.op(), first.scale(), divisor);
    }

    private void allgather(
            Batch batch, DeviceBackend backend, long[][] rows, List<Object> tensors) {
        List<Tensor> inputs = new ArrayList<>();
        List<Tensor> outputs = new ArrayList<>();
        for (int i = 0; i < batch.size(); i++) {
            Request request = batch.requests().get(i);
            TensorEntry<?> entry = batch.entry(i);
            inputs.add(entry == null ? noRows(request) : input(entry));
            long total = 0;
            for (long[] ofRank : rows) {
                total += ofRank[i];
            }
            Tensor output = driver.allocate(request.dataType(), request.shape().withRows(total));
            outputs.add(output);
            batch.result(i, output);
        }
        tensors.addAll(inputs);
        tensors.addAll(outputs);
        ((Backend.SupportsAllgather) backend).allgather(inputs, outputs, rows);
    }

    private void broadcast(Batch batch, DeviceBackend backend, List<Object> tensors) {
        Request request = batch.first();
        TensorEntry<?> entry = batch.entry(0);
        Tensor tensor = entry == null ? neutral(request) : input(entry);
        tensors.add(tensor);
        batch.result(0, tensor.ready());
        ((Backend.SupportsBroadcast) backend).broadcast(tensor, request.rootRank());
    }

    private void alltoall(Batch batch, DeviceBackend backend, long[][] rows, List<Object> tensors) {
        Request request = batch.first();
        TensorEntry<?> entry = batch.entry(0);
        Tensor from = entry == null ? noRows(request) : input(entry);
        int[] received = new int[rows.length];
        long total = 0;
        for (int r = 0; r < rows.length; r++) {
            received[r] = (int) rows[r][rank];
            total += received[r];
        }
        Tensor to = driver.allocate(request.dataType(), request.shape().withRows(total));
        tensors.add(from);
        tensors.add(to);
        batch.result(0, new AlltoallResult(to, received));
        ((Backend.SupportsAlltoall) backend).alltoall(from, to, rows);
    }

    /// A tensor that does not change a result: the contribution of a rank that has joined.
    private Tensor neutral(Request request) {
        Tensor tensor = driver.allocate(request.dataType(), request.shape());
        long value = NeutralTensors.bits(request.dataType(), request.op());
        if (value != 0 && tensor.elementCount() > 0) {
            driver.fill(
                    tensor.deviceAddress(),
                    tensor.elementCount(),
                    request.dataType().byteSize(),
                    value,
                    stream);
        }
        return tensor;
    }

    private Tensor noRows(Request request) {
        return driver.allocate(request.dataType(), request.shape().withRows(0));
    }

    void close() {
        Cleanup cleanup = new Cleanup();
        backends.forEach(each -> cleanup.run(each::close));
        cleanup.run(() -> driver.closeStream(stream));
        cleanup.end();
    }

    /// Hands what was launched to the entries of a batch.
    static void finish(Batch batch, LaunchedBatch launched) {
        for (int i = 0; i < batch.size(); i++) {
            TensorEntry<?> entry = batch.entry(i);
            if (entry != null) {
                entry.setLaunchedWork(launched);
                entry.releaseReadyEvent();
            }
        }
    }

    private static Tensor input(TensorEntry<?> entry) {
        return input(entry.operation());
    }

    /// The tensor that an operation reads.
    static Tensor input(Operation<?> operation) {
        return switch (operation) {
            case Operation.Allreduce(Tensor from, Tensor _) -> from;
            case Operation.Allgather(Tensor tensor) -> tensor;
            case Operation.Broadcast(Tensor tensor) -> tensor;
            case Operation.Alltoall(Tensor tensor, int[] _) -> tensor;
            case Operation.Reducescatter(Tensor tensor) -> tensor;
            case Operation.Barrier _, Operation.Join _, Operation.FailStep _ ->
                    throw new IllegalArgumentException(operation + " has no tensor");
        };
    }
}
