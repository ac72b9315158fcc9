package org.horovod4j.runtime.device;

import org.horovod4j.AlltoallResult;
import org.horovod4j.ConfigurationException;
import org.horovod4j.Device;
import org.horovod4j.DeviceStream;
import org.horovod4j.HorovodException;
import org.horovod4j.ReduceOp;
import org.horovod4j.Shape;
import org.horovod4j.ShutDownException;
import org.horovod4j.Tensor;
import org.horovod4j.codec.ObjectCodec;
import org.horovod4j.log.Log;
import org.horovod4j.option.DeviceSettings;
import org.horovod4j.runtime.controller.ProcessSetState;
import org.horovod4j.runtime.dispatch.DeviceDispatcher;
import org.horovod4j.runtime.dispatch.NeutralTensors;
import org.horovod4j.runtime.fusion.Batch;
import org.horovod4j.runtime.message.Request;
import org.horovod4j.runtime.queue.Operation;
import org.horovod4j.runtime.queue.TensorEntry;
import org.horovod4j.runtime.timeline.ActivityLog;
import org.horovod4j.spi.Activity;
import org.horovod4j.spi.Backend;
import org.horovod4j.spi.CancellableBackend;
import org.horovod4j.spi.DeviceBackend;
import org.horovod4j.spi.DeviceBackendProvider;
import org.horovod4j.spi.DeviceContext;
import org.horovod4j.spi.DeviceDriver;
import org.horovod4j.spi.DeviceEvent;
import org.horovod4j.spi.DevicePlace;
import org.horovod4j.spi.FusedTensors;
import org.horovod4j.spi.RankInfo;
import org.jspecify.annotations.Nullable;

import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Function;

/// Runs batches of tensors on a device, for one process set on one rank.
///
/// Launched work cannot be cancelled. So the ranks *meet* on the host before each
/// launch, by a barrier of the CPU backend. Until they have met, they can cancel the batch together;
/// afterwards all of them launch it. The batch completes for the cycle when it is launched, and its
/// handles wait for the event behind it.
///
/// The thread that drives the cycle calls [#run]. Any thread may call [#recordReadyEvent].
public final class DeviceCollectives implements DeviceDispatcher {
    private static final Logger LOG = Log.of(DeviceCollectives.class);

    /// How long work that was launched may take when the process set is closed.
    private static final Duration DRAIN_TIMEOUT = Duration.ofSeconds(10);

    /// How long a batch that a lost rank had launched may still take.
    private static final Duration LOSS_GRACE = Duration.ofSeconds(1);

    private final RankDevices devices;
    private final DeviceSettings settings;
    private final int processSet;
    private final int rank;
    private final List<RankInfo> members;
    private final ProcessSetState state;
    private final ActivityLog activities;
    private final LaunchHostCollectives hostCollectives;
    private final DeviceMonitor monitor;
    private final Function<Throwable, HorovodException> reportFailure;

    /// The device of this rank in the process set.
    private final AtomicReference<@Nullable Device> device = new AtomicReference<>();

    /// When the loss of a rank was noticed; 0 before.
    private final AtomicLong lossNanos = new AtomicLong();

    /// Written by the thread that runs batches, read by the monitor.
    private volatile @Nullable DeviceLaunches launches;

    /// @param host the CPU backend of the process set
    /// @param rank this rank in the set
    /// @param members of the set, by rank in the set
    /// @param reportFailure reports a failure to the other ranks, and returns the exception for this program
    /// @param threadFactory creates the thread that watches what was launched
    public DeviceCollectives(
            RankDevices devices,
            DeviceSettings settings,
            CancellableBackend host,
            int processSet,
            int rank,
            List<RankInfo> members,
            ProcessSetState state,
            ActivityLog activities,
            Function<Throwable, HorovodException> reportFailure,
            ThreadFactory threadFactory) {
        this.devices = devices;
        this.settings = settings;
        this.processSet = processSet;
        this.rank = rank;
        this.members = List.copyOf(members);
        this.state = state;
        this.activities = activities;
        this.reportFailure = reportFailure;
        this.hostCollectives =
                new LaunchHostCollectives(host, rank, members.size(), this::checkLaunch);
        this.monitor = new DeviceMonitor(threadFactory, new LaunchCheck());
    }

    /// What the monitor checks.
    private final class LaunchCheck implements DeviceMonitor.Check {
        @Override
        public void check(long number) {
            state.checkRanks(number);
            checkLoss();
            DeviceLaunches current = launches;
            if (current != null) {
                current.backends().forEach(DeviceBackend::check);
            }
        }

        @Override
        public void abort() {
            DeviceLaunches current = launches;
            if (current != null) {
                Cleanup cleanup = new Cleanup();
                current.backends().forEach(each -> cleanup.run(each::abort));
                cleanup.end();
            }
        }

        @Override
        public void report(HorovodException failure) {
            if (!(failure
                    instanceof ShutDownException)) { // of this rank, which the others learn of
                state.close(reportFailure.apply(failure));
            }
        }
    }

    /// Ends a wait of a launch, if a rank is lost.
    private void checkLaunch() {
        state.check();
        checkLoss();
        HorovodException failure = monitor.failure();
        if (failure != null) {
            throw failure;
        }
    }

    /// A lost rank may have launched a batch, and its part on the device may have ended or not.
    private void checkLoss() {
        HorovodException loss = state.loss();
        if (loss != null) {
            long now = System.nanoTime();
            boolean _ = lossNanos.compareAndSet(0, now);
            if (now - lossNanos.get() > LOSS_GRACE.toNanos()) {
                throw loss;
            }
        }
    }

    @Override
    public @Nullable DeviceEvent recordReadyEvent(Request request, Operation<?> operation) {
        Device used = request.device();
        DeviceDriver driver = devices.driver(used);
        Device before = device.compareAndExchange(null, used);
        if (before != null && !before.equals(used)) {
            throw new IllegalArgumentException(
                    """
                    %s: it is on %s, but this rank has used %s in this process set
                    A rank uses one device in a process set; add a process set for another."""
                            .formatted(request, used, before));
        }
        DeviceStream computes = input(operation).producer().orElse(null);
        DeviceStream usesOutput = output(operation).producer().orElse(null);
        DeviceEvent ofInput = computes == null ? null : driver.record(computes);
        if (usesOutput == null || usesOutput.equals(computes)) {
            return ofInput;
        }
        if (ofInput == null) {
            return driver.record(usesOutput);
        }
        try {
            return new BothEvents(ofInput, driver.record(usesOutput));
        } catch (RuntimeException | Error e) {
            ofInput.release();
            throw e;
        }
    }

    /// The streams of an input and an output have both reached their events.
    private record BothEvents(DeviceEvent first, DeviceEvent second) implements DeviceEvent {
        @Override
        public boolean isComplete() {
            return first.isComplete() && second.isComplete();
        }

        @Override
        public void awaitOn(DeviceStream stream) {
            first.awaitOn(stream);
            second.awaitOn(stream);
        }

        @Override
        public void release() {
            Cleanup cleanup = new Cleanup();
            cleanup.run(first::release);
            cleanup.run(second::release);
            cleanup.end();
        }
    }

    @Override
    public void run(Batch batch, long stamp, int divisor) {
        hostCollectives.begin(stamp);
        long since = activities.begin();
        long[][] meeting = meet(batch);
        long _ = activities.end(Activity.WAIT_FOR_DATA, since);
        DeviceLaunches current;
        DeviceBackend backend;
        try {
            current = launches(batch.first());
            backend = current.backend(batch.first());
        } catch (ConfigurationException e) {
            // All ranks choose from the same data, so this operation fails on all, and nothing
            // else.
            finish(batch, LaunchedBatch.failed(e));
            return;
        }
        current.launch(batch, backend, meeting, divisor);
    }

    /// Returns when all ranks have reached the batch. Until then it can be cancelled.
    ///
    /// @return the rows of each rank and tensor of an allgather, or of each rank and receiver of an
    ///     alltoall
    private long[][] meet(Batch batch) {
        return switch (batch.first().collectiveKind()) {
            case ALLGATHER -> hostCollectives.allgather(rows(batch));
            case ALLTOALL -> hostCollectives.allgather(splits(batch));
            case ALLREDUCE, BROADCAST, REDUCESCATTER, BARRIER -> {
                hostCollectives.barrier();
                yield new long[0][];
            }
        };
    }

    private static long[] rows(Batch batch) {
        long[] rows = new long[batch.size()];
        for (int i = 0; i < rows.length; i++) {
            TensorEntry<?> entry = batch.entry(i);
            rows[i] = entry == null ? 0 : entry.request().shape().dimension(0);
        }
        return rows;
    }

    private long[] splits(Batch batch) {
        TensorEntry<?> entry = batch.entry(0);
        return entry == null
                ? new long[members.size()]
                : Arrays.stream(((Operation.Alltoall) entry.operation()).splits())
                        .asLongStream()
                        .toArray();
    }

    private static void finish(Batch batch, LaunchedBatch launched) {
        for (int i = 0; i < batch.size(); i++) {
            TensorEntry<?> entry = batch.entry(i);
            if (entry != null) {
                entry.setLaunchedWork(launched);
                entry.releaseReadyEvent();
            }
        }
    }

    /// The launches of this process set. The ranks create it together, at their first batch.
    private DeviceLaunches launches(Request request) {
        DeviceLaunches current = launches;
        if (current != null) {
            return current;
        }
        DeviceDriver driver = driver(request.device().kind());
        Device used = driver.device();
        List<DeviceBackendProvider> providers = devices.backends(used.kind());
        RankInfo self = members.get(rank);
        BackendChoice.Offer mine =
                BackendChoice.Offer.of(
                        new DevicePlace(
                                self.rank(),
                                self.machine(),
                                self.domain(),
                                used,
                                driver.identity(),
                                BackendChoice.processInfo(providers)),
                        providers,
                        settings);
        ObjectCodec codec = new ObjectCodec(DeviceCollectives.class.getClassLoader());
        List<BackendChoice.Offer> offers =
                hostCollectives.allgather(codec.encode(mine)).stream()
                        .map(
                                bytes ->
                                        (BackendChoice.Offer)
                                                Objects.requireNonNull(codec.decode(bytes)))
                        .toList();
        BackendChoice choice = BackendChoice.of(providers, offers);
        LOG.log(
                Level.INFO,
                () ->
                        "Process set %d on %s (%s): %s"
                                .formatted(
                                        processSet,
                                        driver.device(),
                                        driver.describe(),
                                        choice.describe()));
        current =
                new DeviceLaunches(
                        driver, choice, offers.stream().map(BackendChoice.Offer::place).toList());
        launches = current;
        return current;
    }

    /// The driver of this rank's device. A failure here is one of this rank alone, so it ends the
    /// process set.
    private DeviceDriver driver(Device.Kind kind) {
        try {
            Device used = device.get();
            if (used == null) { // this rank has joined
                used = devices.anyOf(kind);
                device.set(used);
            }
            return devices.driver(used);
        } catch (ConfigurationException e) {
            throw new HorovodException(
                    "no %s device can be used on this rank: %s".formatted(kind, e.getMessage()), e);
        }
    }

    /// Waits for what was launched, unless a rank is lost or it takes very long.
    public void drain() {
        boolean _ = monitor.drain(DRAIN_TIMEOUT.toNanos());
    }

    /// Ends what was launched and has not ended, and frees the backends. No batch runs any more.
    public void close(HorovodException reason) {
        Cleanup cleanup = new Cleanup();
        if (!monitor.drain(0)) {
            cleanup.run(() -> monitor.fail(reason));
        }
        monitor.close();
        DeviceLaunches current = launches;
        if (current != null) {
            cleanup.run(current::close);
        }
        cleanup.end();
    }

    /// Launches batches on the device of this rank.
    private final class DeviceLaunches {
        private final DeviceDriver driver;
        private final BackendChoice choice;
        private final List<DevicePlace> places;
        private final DeviceStream stream;
        private final Map<String, DeviceBackend> created = new HashMap<>();
        private volatile List<DeviceBackend> backends = List.of();

        DeviceLaunches(DeviceDriver driver, BackendChoice choice, List<DevicePlace> places) {
            this.driver = driver;
            this.choice = choice;
            this.places = places;
            this.stream = driver.openStream(true);
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
                        new DeviceContext(driver, stream, hostCollectives, places, this::launched));
            } catch (ConfigurationException e) {
                // Other ranks may have succeeded, so it is not a failure of this operation alone.
                throw new HorovodException(
                        "%s could not be started: %s".formatted(provider.name(), e.getMessage()),
                        e);
            } finally {
                activities.record("INIT_" + provider.name(), since);
            }
        }

        private long launchedSince;

        /// Times what was launched, while a trace is recorded.
        private void launched(String activity) {
            if (launchedSince != 0) {
                hostCollectives.await(driver.record(stream));
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
                launched.launched(driver.record(stream), tensors);
            } catch (RuntimeException | Error e) {
                throw aborted(e);
            }
            finish(batch, launched);
        }

        /// Aborts a batch whose launch has failed.
        ///
        /// @return the exception to throw: the failure that the monitor has noticed before, if there
        ///     is one
        private HorovodException aborted(Throwable failure) {
            HorovodException reason = DeviceMonitor.asHorovodException(failure);
            try {
                if (!monitor.fail(reason)) {
                    HorovodException before = Objects.requireNonNull(monitor.failure());
                    return before.atCaller();
                }
            } catch (RuntimeException | Error e) {
                reason.addSuppressed(e);
            }
            return reason;
        }

        /// @return the tensors that the work uses
        private List<Object> launchWork(
                Batch batch, DeviceBackend backend, long[][] meeting, int divisor) {
            launchedSince = activities.begin();
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

        private void allreduce(
                Batch batch, DeviceBackend backend, int divisor, List<Object> tensors) {
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
                Tensor to =
                        entry == null ? from : ((Operation.Allreduce) entry.operation()).output();
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
            int size = members.size();
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
                Tensor output =
                        driver.allocate(request.dataType(), request.shape().withRows(total));
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

        private void alltoall(
                Batch batch, DeviceBackend backend, long[][] rows, List<Object> tensors) {
            Request request = batch.first();
            TensorEntry<?> entry = batch.entry(0);
            Tensor from = entry == null ? noRows(request) : input(entry);
            int[] splits = new int[rows.length];
            int[] received = new int[rows.length];
            long total = 0;
            for (int r = 0; r < rows.length; r++) {
                splits[r] = (int) rows[rank][r];
                received[r] = (int) rows[r][rank];
                total += received[r];
            }
            Tensor to = driver.allocate(request.dataType(), request.shape().withRows(total));
            tensors.add(from);
            tensors.add(to);
            batch.result(0, new AlltoallResult(to, received));
            ((Backend.SupportsAlltoall) backend).alltoall(from, splits, to, received);
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
    }

    private static Tensor output(Operation<?> operation) {
        return operation instanceof Operation.Allreduce(Tensor _, Tensor to)
                ? to
                : input(operation);
    }

    private static Tensor input(TensorEntry<?> entry) {
        return input(entry.operation());
    }

    private static Tensor input(Operation<?> operation) {
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
