package org.horovod4j.runtime.device;

import org.horovod4j.ConfigurationException;
import org.horovod4j.Device;
import org.horovod4j.DeviceStream;
import org.horovod4j.HorovodException;
import org.horovod4j.Tensor;
import org.horovod4j.collectives.staged.HierarchicalProvider;
import org.horovod4j.log.Log;
import org.horovod4j.option.BackendSettings;
import org.horovod4j.runtime.backend.BackendChoice;
import org.horovod4j.runtime.backend.BackendMonitor;
import org.horovod4j.runtime.backend.Cleanup;
import org.horovod4j.runtime.backend.LaunchHostCollectives;
import org.horovod4j.runtime.controller.ProcessSetState;
import org.horovod4j.runtime.dispatch.DeviceDispatcher;
import org.horovod4j.runtime.fusion.Batch;
import org.horovod4j.runtime.message.Request;
import org.horovod4j.runtime.queue.Operation;
import org.horovod4j.runtime.queue.TensorEntry;
import org.horovod4j.runtime.timeline.ActivityLog;
import org.horovod4j.spi.Activity;
import org.horovod4j.spi.CancellableBackend;
import org.horovod4j.spi.DeviceBackend;
import org.horovod4j.spi.DeviceBackendProvider;
import org.horovod4j.spi.DeviceDriver;
import org.horovod4j.spi.DeviceEvent;
import org.horovod4j.spi.DevicePlace;
import org.horovod4j.spi.RankInfo;
import org.horovod4j.text.RankList;
import org.jspecify.annotations.Nullable;

import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.ThreadFactory;
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

    private final RankDevices devices;
    private final BackendSettings settings;
    private final boolean mayShare;
    private final int processSet;
    private final int rank;
    private final List<RankInfo> members;
    private final ProcessSetState state;
    private final ActivityLog activities;
    private final LaunchHostCollectives hostCollectives;
    private final BackendMonitor monitor;

    /// The device of this rank in the process set.
    private final AtomicReference<@Nullable Device> device = new AtomicReference<>();

    /// Written by the thread that runs batches, read by the monitor.
    private volatile @Nullable DeviceLauncher launcher;

    /// @param mayShare whether ranks share devices on purpose
    /// @param host the CPU backend of the process set
    /// @param rank this rank in the set
    /// @param members of the set, by rank in the set
    /// @param reportFailure reports a failure to the other ranks, and returns the exception for this program
    /// @param threadFactory creates the thread that watches what was launched
    public DeviceCollectives(
            RankDevices devices,
            BackendSettings settings,
            boolean mayShare,
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
        this.mayShare = mayShare;
        this.processSet = processSet;
        this.rank = rank;
        this.members = List.copyOf(members);
        this.state = state;
        this.activities = activities;
        this.monitor = new BackendMonitor(threadFactory, state, this::backends, reportFailure);
        this.hostCollectives =
                new LaunchHostCollectives(host, rank, members.size(), monitor::checkLaunch);
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
        DeviceStream computes = DeviceLauncher.input(operation).producer().orElse(null);
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
        DeviceLauncher current;
        DeviceBackend backend;
        try {
            current = launcher(batch.first());
            backend = current.backend(batch.first());
        } catch (ConfigurationException e) {
            // All ranks choose from the same data, so this operation fails on all, and nothing
            // else.
            DeviceLauncher.finish(batch, LaunchedBatch.failed(e));
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

    /// The launcher of this process set. The ranks create it together, at their first batch.
    private DeviceLauncher launcher(Request request) {
        DeviceLauncher current = launcher;
        if (current != null) {
            return current;
        }
        DeviceDriver driver = driver(request.device().kind());
        Device used = driver.device();
        List<DeviceBackendProvider> found = devices.backends(used.kind());
        List<DeviceBackendProvider> providers =
                settings.hierarchicalAllreduce() ? HierarchicalProvider.withVariants(found) : found;
        RankInfo self = members.get(rank);
        BackendChoice<DeviceBackendProvider> choice =
                BackendChoice.agree(
                        hostCollectives,
                        BackendChoice.Offer.of(
                                new DevicePlace(
                                        self.rank(),
                                        self.machine(),
                                        self.domain(),
                                        used,
                                        driver.identity(),
                                        BackendChoice.processInfo(providers)),
                                providers,
                                settings),
                        providers);
        LOG.log(
                Level.INFO,
                () ->
                        "Process set %d on %s (%s): %s"
                                .formatted(
                                        processSet,
                                        driver.device(),
                                        driver.describe(),
                                        choice.describe()));
        if (rank == 0 && !mayShare) {
            DevicePlace.shared(choice.places()).forEach(this::warnOfSharing);
        }
        current =
                new DeviceLauncher(
                        driver, choice, hostCollectives, rank, state, monitor, activities);
        launcher = current;
        return current;
    }

    /// Ranks may share a GPU by mistake, and train slowly: each sees the same one by
    /// `CUDA_VISIBLE_DEVICES`, or has not selected one by its local rank.
    private void warnOfSharing(List<DevicePlace> ranks) {
        DevicePlace first = ranks.getFirst();
        LOG.log(
                Level.WARNING,
                () ->
                        """
                        Process set %d: %s use the same GPU, %s of host %s, and take turns on it
                        Let each rank see or select its own: horovodrun --gpus-per-rank 1, srun --gpus-per-task=1, or \
                        the GPU with the number of the local rank. HOROVOD_SHARE_GPUS=1 hides this warning."""
                                .formatted(
                                        processSet,
                                        RankList.format(
                                                ranks.stream().map(DevicePlace::jobRank).toList()),
                                        first.identity(),
                                        hostOf(first.jobRank())));
    }

    private String hostOf(int jobRank) {
        return members.stream()
                .filter(each -> each.rank() == jobRank)
                .findFirst()
                .map(RankInfo::host)
                .orElse("");
    }

    /// The backends that this rank uses, for the monitor.
    private List<DeviceBackend> backends() {
        DeviceLauncher current = launcher;
        return current == null ? List.of() : current.backends();
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
        DeviceLauncher current = launcher;
        if (current != null) {
            cleanup.run(current::close);
        }
        cleanup.end();
    }

    private static Tensor output(Operation<?> operation) {
        return operation instanceof Operation.Allreduce(Tensor _, Tensor to)
                ? to
                : DeviceLauncher.input(operation);
    }
}
