package org.horovod4j.runtime;

import org.horovod4j.HorovodException;
import org.horovod4j.collectives.AllreduceSelector;
import org.horovod4j.collectives.CostModel;
import org.horovod4j.collectives.CpuBackend;
import org.horovod4j.collectives.CrossGroup;
import org.horovod4j.collectives.LinkCalibration;
import org.horovod4j.collectives.algorithm.HelperThreads;
import org.horovod4j.log.Log;
import org.horovod4j.option.JoinAverage;
import org.horovod4j.option.RuntimeSettings;
import org.horovod4j.runtime.autotune.Autotuner;
import org.horovod4j.runtime.backend.HostBackends;
import org.horovod4j.runtime.controller.Coordinator;
import org.horovod4j.runtime.controller.ProcessSetState;
import org.horovod4j.runtime.cycle.CycleAgent;
import org.horovod4j.runtime.cycle.ProcessSetContext;
import org.horovod4j.runtime.device.DeviceCollectives;
import org.horovod4j.runtime.device.RankDevices;
import org.horovod4j.runtime.dispatch.Dispatcher;
import org.horovod4j.runtime.queue.TensorEntry;
import org.horovod4j.runtime.stall.RankReport.Pending;
import org.horovod4j.runtime.stall.RankReport.ProcessSetReport;
import org.horovod4j.runtime.stall.RankReport.Progress;
import org.horovod4j.runtime.timeline.ActivityLog;
import org.horovod4j.runtime.timeline.Recorder;
import org.horovod4j.spi.CancellableBackend;
import org.horovod4j.spi.RankInfo;
import org.horovod4j.spi.Tuning;
import org.horovod4j.transport.CachedClock;
import org.horovod4j.transport.HostControlLinks;
import org.horovod4j.transport.IdleStrategy;
import org.horovod4j.transport.Links;
import org.horovod4j.transport.LocalGroup;
import org.horovod4j.transport.PointToPoint;
import org.horovod4j.transport.ProcessSetLinks;
import org.horovod4j.transport.SharedMemory;
import org.horovod4j.transport.Topology;
import org.jspecify.annotations.Nullable;

import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.util.Comparator;
import java.util.List;
import java.util.concurrent.ThreadFactory;
import java.util.function.Function;

/// One process set on one of its ranks.
///
/// It shares nothing with other process sets: it has its own memory, links, thread and batch
/// numbers. So an operation of one set never waits for another set.
final class ProcessSetRuntime {
    private static final Logger LOG = Log.of(ProcessSetRuntime.class);
    private static final long NANOS_PER_MILLI = 1_000_000;

    /// More threads do not copy faster: the memory is the limit.
    private static final int MAX_HELPER_THREADS = 7;

    private final RankSet set;
    private final ProcessSetState state;
    private final CancellableBackend backend;
    private final DeviceCollectives deviceCollectives;
    private final CycleAgent agent;
    private final HostControlLinks control;
    private final IdleStrategy idleStrategy;

    private ProcessSetRuntime(
            RankSet set,
            ProcessSetState state,
            CancellableBackend backend,
            DeviceCollectives deviceCollectives,
            CycleAgent agent,
            HostControlLinks control,
            IdleStrategy idleStrategy) {
        this.set = set;
        this.state = state;
        this.backend = backend;
        this.deviceCollectives = deviceCollectives;
        this.agent = agent;
        this.control = control;
        this.idleStrategy = idleStrategy;
    }

    /// Builds and starts the runtime: links, backend, coordinator (on rank 0 of the set), agent.
    ///
    /// @param context of the rank; its other process sets have the same
    /// @param clock of the rank; its process sets share it
    /// @param devices of the rank
    /// @param recorder receives events for timeline and Java Flight Recorder
    /// @param autotuner on rank 0 of the job, if it tunes
    /// @param channel a number that no other process set has had
    /// @param members of the set, by rank in the set
    /// @param memory shared with ranks of the set
    static ProcessSetRuntime start(
            RankContext context,
            CachedClock clock,
            RankDevices devices,
            Recorder recorder,
            @Nullable Autotuner autotuner,
            RankSet set,
            int channel,
            List<RankInfo> members,
            SharedMemory memory) {
        Topology topology = Topology.of(set.rank(), members);
        int cores =
                context.settings()
                        .hostProcessors()
                        .orElse(Runtime.getRuntime().availableProcessors());
        int hostRanks = context.topology().localSize(); // of all process sets
        boolean oversubscribed = hostRanks > cores;
        ProcessSetState state = new ProcessSetState(context.state(), set.id(), set.ranks(), clock);
        IdleStrategy idleStrategy = new IdleStrategy(state, clock, oversubscribed);

        PointToPoint data = null;
        HostControlLinks control = null;
        CancellableBackend backend = null;
        FailureHandler failureHandler = context.failureHandler();
        Function<Throwable, HorovodException> explain =
                failure -> failureHandler.explain(failure, set.ranks());
        try {
            data = new PointToPoint(links(context, set, 2 * channel, state), idleStrategy);
            LocalGroup localGroup = new LocalGroup(memory, idleStrategy);
            if (localGroup.size() == set.size()) {
                localGroup.setSpansProcessSet();
            } else if (localGroup.size() == 1) {
                idleStrategy.waitForLinks();
            }
            control =
                    new HostControlLinks(
                            localGroup, links(context, set, 2 * channel + 1, state), set.ranks());
            CostModel costs =
                    new LinkCalibration(context.clock(), context.kernels())
                            .run(topology, data, localGroup);
            ActivityLog activities = new ActivityLog(recorder);
            AllreduceSelector selector = new AllreduceSelector(costs, context.allreduce());
            CrossGroup crossGroup = new CrossGroup(topology, data, selector);
            CpuBackend cpu =
                    new CpuBackend(
                            localGroup,
                            crossGroup,
                            context.kernels(),
                            activities,
                            helperThreads(context, cores / hostRanks, idleStrategy),
                            context.settings().streamingStores());
            backend = cpu;
            backend =
                    new HostBackends(
                                    set.id(),
                                    set.rank(),
                                    members,
                                    state,
                                    activities,
                                    explain,
                                    daemonThreads("hvd-backend-", context, set))
                            .choose(
                                    cpu,
                                    context.hostBackends().get(),
                                    context.settings().backends());
            state.complete(0);
            backend.tune(context.settings().tuning());
            LOG.log(
                    Level.DEBUG,
                    () ->
                            "Process set %d has %d ranks. Allreduce by size: %s"
                                    .formatted(set.id(), set.size(), cpu.describeAllreduce()));

            Coordinator coordinator =
                    set.rank() == 0 ? coordinator(context, backend, recorder, set) : null;
            DeviceCollectives deviceCollectives =
                    new DeviceCollectives(
                            devices,
                            context.settings().backends(),
                            context.settings().framework().sharesGpus(),
                            cpu,
                            set.id(),
                            set.rank(),
                            members,
                            state,
                            activities,
                            explain,
                            daemonThreads("hvd-device-", context, set));
            CycleAgent agent =
                    new CycleAgent(
                            cycleThread(context, set),
                            new ProcessSetContext(
                                    set.id(),
                                    set.rank(),
                                    set.size(),
                                    coordinator,
                                    control::link,
                                    backend,
                                    new Dispatcher(
                                            backend, deviceCollectives, set.rank(), set.ranks()),
                                    deviceCollectives,
                                    state,
                                    idleStrategy,
                                    context.settings().tuning(),
                                    recorder,
                                    activities,
                                    clock),
                            stepListener(context, autotuner, set, coordinator),
                            explain);
            return new ProcessSetRuntime(
                    set, state, backend, deviceCollectives, agent, control, idleStrategy);
        } catch (RuntimeException | Error e) {
            if (control != null) {
                control.close(); // before the memory that it uses
            }
            if (backend != null) {
                backend.close(); // closes `data` and `memory` too
            } else if (data != null) {
                data.close();
            }
            idleStrategy.close(); // after the links
            context.state().unregister(set.id(), state);
            throw e;
        }
    }

    private static Links links(
            RankContext context, RankSet set, int channel, ProcessSetState state) {
        return new ProcessSetLinks(context.linkTransport().open(channel, state), set.ranks());
    }

    private static ThreadFactory cycleThread(RankContext context, RankSet set) {
        String name = threadName("hvd-cycle-", context, set);
        List<Integer> processors = context.settings().threadAffinity();
        return task ->
                Thread.ofPlatform()
                        .name(name)
                        .daemon()
                        .unstarted(
                                processors.isEmpty()
                                        ? task
                                        : ThreadAffinity.bindThenRun(
                                                processors, context.placement().local(), task));
    }

    private static ThreadFactory daemonThreads(String prefix, RankContext context, RankSet set) {
        return Thread.ofPlatform().daemon().name(threadName(prefix, context, set)).factory();
    }

    private static String threadName(String prefix, RankContext context, RankSet set) {
        return prefix + context.rank() + (set.id() == 0 ? "" : "-set-" + set.id());
    }

    /// @param cores how many cores this rank may use if the ranks of the host share them evenly
    private static HelperThreads helperThreads(
            RankContext context, int cores, IdleStrategy idleStrategy) {
        int idle = Math.clamp(cores - 1, 0, MAX_HELPER_THREADS);
        ThreadFactory factory =
                Thread.ofPlatform()
                        .daemon()
                        .name("hvd-helper-" + context.rank() + "-", 1)
                        .factory();
        boolean affinity = !context.settings().threadAffinity().isEmpty();
        return new HelperThreads(
                context.settings().helperThreads().orElse(idle),
                affinity ? ThreadAffinity.unbound(factory) : factory,
                () -> !idleStrategy.isBackground());
    }

    private static Coordinator coordinator(
            RankContext context, CancellableBackend backend, Recorder recorder, RankSet set) {
        RuntimeSettings settings = context.settings();
        return new Coordinator(
                set.ranks(),
                new Coordinator.CoordinatorSettings(
                        settings.cacheCapacity(),
                        settings.groupFusion(),
                        settings.planLocking(),
                        settings.joinAverage() == JoinAverage.LIVE,
                        backend::reproducibleFusionBytes),
                settings.tuning(),
                (tensor, from) -> {
                    if (recorder.isOn()) {
                        recorder.rankReady(set.id(), tensor, from);
                    }
                });
    }

    /// Lets the autotuner, if there is one, watch the steps of the set of all ranks and change its tuning.
    private static CycleAgent.@Nullable StepListener stepListener(
            RankContext context,
            @Nullable Autotuner autotuner,
            RankSet set,
            @Nullable Coordinator coordinator) {
        if (autotuner == null || coordinator == null || set.id() != 0) {
            return null;
        }
        // It may begin with the result of an earlier run or generation.
        if (!autotuner.current().equals(context.settings().tuning())) {
            coordinator.retune(autotuner.current());
        }
        return (bytes, nanos) -> {
            Tuning next = autotuner.step(bytes, nanos);
            if (next != null) {
                coordinator.retune(next);
            }
            return next != null;
        };
    }

    ProcessSetState state() {
        return state;
    }

    CancellableBackend backend() {
        return backend;
    }

    CycleAgent agent() {
        return agent;
    }

    /// What this rank is doing in the set, for a state report.
    ProcessSetReport report() {
        long now = System.nanoTime();
        List<Pending> pending =
                agent.pending().stream()
                        .sorted(Comparator.comparingLong(TensorEntry::sequence))
                        .map(tensorEntry -> pending(tensorEntry, now))
                        .toList();
        TensorEntry<Integer> joinOrFailStep = agent.joinOrFailStep();
        return ProcessSetReport.of(
                set.id(),
                set.ranks(),
                agent.describe(),
                agent.statistics(),
                new Progress(state.completed(), state.idleNanos() / NANOS_PER_MILLI),
                joinOrFailStep == null ? null : pending(joinOrFailStep, now),
                pending);
    }

    private static Pending pending(TensorEntry<?> tensorEntry, long now) {
        return new Pending(
                tensorEntry.request().name(),
                tensorEntry.toString(),
                (now - tensorEntry.submittedNanos()) / NANOS_PER_MILLI);
    }

    /// Fails all pending operations. Returns when none runs any more, on a device either.
    void stop(HorovodException reason) {
        agent.close(reason);
        deviceCollectives.close(reason);
    }

    /// Waits for operations that were launched on a device, before [#stop].
    void drain() {
        deviceCollectives.drain();
    }

    /// Frees memory and links, after [#stop].
    void close() {
        control.close();
        backend.close();
        idleStrategy.close(); // after the links
    }
}
