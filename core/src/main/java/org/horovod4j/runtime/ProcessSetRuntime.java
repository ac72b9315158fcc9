package org.horovod4j.runtime;

import org.horovod4j.HorovodException;
import org.horovod4j.ProcessSet;
import org.horovod4j.collectives.AllreduceSelector;
import org.horovod4j.collectives.CostModel;
import org.horovod4j.collectives.CpuBackend;
import org.horovod4j.collectives.CrossGroup;
import org.horovod4j.collectives.LinkCalibration;
import org.horovod4j.option.JoinAverage;
import org.horovod4j.runtime.controller.Coordinator;
import org.horovod4j.runtime.controller.ProcessSetState;
import org.horovod4j.runtime.cycle.AgentComponents;
import org.horovod4j.runtime.cycle.CycleAgent;
import org.horovod4j.runtime.dispatch.Dispatcher;
import org.horovod4j.runtime.queue.TensorEntry;
import org.horovod4j.runtime.stall.RankReport.Pending;
import org.horovod4j.runtime.stall.RankReport.ProcessSetReport;
import org.horovod4j.runtime.stall.RankReport.Progress;
import org.horovod4j.runtime.timeline.ActivityLog;
import org.horovod4j.runtime.timeline.Recorder;
import org.horovod4j.spi.Backend;
import org.horovod4j.spi.RankInfo;
import org.horovod4j.transport.IdleStrategy;
import org.horovod4j.transport.Links;
import org.horovod4j.transport.LocalGroup;
import org.horovod4j.transport.PointToPoint;
import org.horovod4j.transport.ProcessSetLinks;
import org.horovod4j.transport.SharedMemory;
import org.horovod4j.transport.Topology;

import java.util.Comparator;
import java.util.List;

/// One process set on one of its ranks: a small world of its own, with its own memory, links,
/// thread and numbers, so that nothing in it waits for another.
final class ProcessSetRuntime {
    private static final long NANOS_PER_MILLI = 1_000_000;

    private final ProcessSetState state;
    private final Backend backend;
    private final CycleAgent agent;
    private final Links control;

    private ProcessSetRuntime(
            ProcessSetState state, Backend backend, CycleAgent agent, Links control) {
        this.state = state;
        this.backend = backend;
        this.agent = agent;
        this.control = control;
    }

    /// Puts it together, from the wire to the thread.
    ///
    /// @param rankServices what it shares with other process sets
    /// @param set which ranks
    /// @param channel tells it from all process sets before it
    /// @param members of the set, by rank in it
    /// @param memory shared with ranks of the set
    static ProcessSetRuntime start(
            RankServices rankServices,
            RankSet set,
            int channel,
            List<RankInfo> members,
            SharedMemory memory) {
        RankComponents rankComponents = rankServices.rankComponents();
        int rank = set.rank();
        ProcessSetState state = new ProcessSetState(rankComponents.state(), set.id(), set.ranks());
        Topology topology = Topology.of(rank, members);
        boolean crowded = topology.localSize() > Runtime.getRuntime().availableProcessors();
        IdleStrategy idleStrategy = new IdleStrategy(state, rankComponents.clock(), crowded);
        LocalGroup near = new LocalGroup(memory, idleStrategy);
        Links data = links(rankComponents, set, 2 * channel, state);
        Links control = links(rankComponents, set, 2 * channel + 1, state);
        PointToPoint pointToPoint = new PointToPoint(data, idleStrategy);
        CostModel costs;
        try {
            costs =
                    new LinkCalibration(rankComponents.clock(), rankComponents.kernels())
                            .run(topology, pointToPoint, near);
        } catch (RuntimeException | Error e) {
            pointToPoint.close();
            control.close();
            rankComponents.state().unregister(set.id(), state);
            throw e;
        }
        state.complete(0);
        AllreduceSelector selector = new AllreduceSelector(costs, rankComponents.allreduce());
        ActivityLog activities = new ActivityLog(rankServices.recorder());
        Backend backend =
                new CpuBackend(
                        near,
                        new CrossGroup(topology, pointToPoint, selector),
                        rankComponents.kernels(),
                        activities);
        backend.tune(rankComponents.settings().tuning());
        Coordinator coordinator =
                rank == 0
                        ? new Coordinator(
                                set.ranks(),
                                rules(rankComponents, backend),
                                rankComponents.settings().tuning(),
                                reports(rankServices.recorder(), set.id()))
                        : null;
        CycleAgent agent =
                new CycleAgent(
                        "hvd-cycle-"
                                + rankComponents.rank()
                                + (set.id() == 0 ? "" : "-set-" + set.id()),
                        new AgentComponents(
                                set.id(),
                                rank,
                                set.size(),
                                coordinator,
                                control,
                                backend,
                                new Dispatcher(backend, rank, set.ranks()),
                                state,
                                crowded,
                                rankComponents.settings().tuning(),
                                rankServices.recorder(),
                                activities,
                                rankComponents.clock()),
                        rankServices.autotunerBinding().stepListener(set, coordinator),
                        failure -> rankServices.failureHandler().explain(failure, set.ranks()));
        return new ProcessSetRuntime(state, backend, agent, control);
    }

    private static Links links(
            RankComponents rankComponents, RankSet set, int channel, ProcessSetState state) {
        return new ProcessSetLinks(
                rankComponents.linkTransport().open(channel, state), set.ranks());
    }

    private static Coordinator.CoordinatorSettings rules(
            RankComponents rankComponents, Backend backend) {
        return new Coordinator.CoordinatorSettings(
                rankComponents.settings().cacheCapacity(),
                rankComponents.settings().groupFusion(),
                rankComponents.settings().planLocking(),
                rankComponents.settings().joinAverage() == JoinAverage.LIVE,
                backend::reproducibleFusionBytes);
    }

    private static Coordinator.RequestListener reports(Recorder recorder, int processSet) {
        return (tensor, from) -> {
            if (recorder.isOn()) {
                recorder.rankReady(processSet, tensor, from);
            }
        };
    }

    ProcessSetState state() {
        return state;
    }

    Backend backend() {
        return backend;
    }

    CycleAgent agent() {
        return agent;
    }

    /// What it is doing, for whoever asks.
    ProcessSetReport report(ProcessSet set) {
        long now = System.nanoTime();
        List<Pending> pending =
                agent.pending().stream()
                        .sorted(Comparator.comparingLong(TensorEntry::serial))
                        .map(tensorEntry -> pending(tensorEntry, now))
                        .toList();
        TensorEntry<Integer> joining = agent.joining();
        return ProcessSetReport.of(
                set.id(),
                set.ranks(),
                agent.describe(),
                new Progress(state.completed(), state.idleNanos() / NANOS_PER_MILLI),
                joining == null ? null : pending(joining, now),
                pending);
    }

    private static Pending pending(TensorEntry<?> tensorEntry, long now) {
        return new Pending(
                tensorEntry.request().name(),
                tensorEntry.toString(),
                (now - tensorEntry.submittedNanos()) / NANOS_PER_MILLI);
    }

    /// Lets all that is in flight fail, and returns when nothing runs any more.
    void stop(HorovodException reason) {
        agent.close(reason);
    }

    /// Frees its memory and links, once stopped.
    void close() {
        control.close();
        backend.close();
    }
}
