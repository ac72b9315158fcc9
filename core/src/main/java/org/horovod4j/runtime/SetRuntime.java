package org.horovod4j.runtime;

import org.horovod4j.HorovodException;
import org.horovod4j.ProcessSet;
import org.horovod4j.collectives.Across;
import org.horovod4j.collectives.AllreduceSelector;
import org.horovod4j.collectives.Calibration;
import org.horovod4j.collectives.CostModel;
import org.horovod4j.collectives.CpuBackend;
import org.horovod4j.option.JoinAverage;
import org.horovod4j.runtime.controller.Coordinator;
import org.horovod4j.runtime.controller.SetState;
import org.horovod4j.runtime.cycle.AgentParts;
import org.horovod4j.runtime.cycle.CycleAgent;
import org.horovod4j.runtime.dispatch.Dispatcher;
import org.horovod4j.runtime.queue.Entry;
import org.horovod4j.runtime.stall.RankReport.OfSet;
import org.horovod4j.runtime.stall.RankReport.Pending;
import org.horovod4j.runtime.stall.RankReport.Progress;
import org.horovod4j.runtime.timeline.ActivityLog;
import org.horovod4j.runtime.timeline.Recorder;
import org.horovod4j.spi.Backend;
import org.horovod4j.spi.Member;
import org.horovod4j.transport.Links;
import org.horovod4j.transport.Neighbourhood;
import org.horovod4j.transport.Patience;
import org.horovod4j.transport.RankedLinks;
import org.horovod4j.transport.SharedMemory;
import org.horovod4j.transport.Topology;
import org.horovod4j.transport.Wire;

import java.util.Comparator;
import java.util.List;

/// One process set on one of its ranks: a small world of its own, with its own memory, links,
/// thread and numbers, so that nothing in it waits for another.
final class SetRuntime {
    private static final long NANOS_PER_MILLI = 1_000_000;

    private final SetState state;
    private final Backend backend;
    private final CycleAgent agent;
    private final Links control;

    private SetRuntime(SetState state, Backend backend, CycleAgent agent, Links control) {
        this.state = state;
        this.backend = backend;
        this.agent = agent;
        this.control = control;
    }

    /// Puts it together, from the wire to the thread.
    ///
    /// @param common what it shares with other process sets
    /// @param set which ranks
    /// @param channel tells it from all process sets before it
    /// @param members of the set, by rank in it
    /// @param memory shared with ranks of the set
    static SetRuntime start(
            Common common, RankSet set, int channel, List<Member> members, SharedMemory memory) {
        Parts parts = common.parts();
        int rank = set.rank();
        SetState state = new SetState(parts.state(), set.id(), set.ranks());
        Topology topology = Topology.of(rank, members);
        boolean crowded = topology.localSize() > Runtime.getRuntime().availableProcessors();
        Patience patience = new Patience(state, parts.clock(), crowded);
        Neighbourhood near = new Neighbourhood(memory, patience);
        Links data = links(parts, set, 2 * channel, state);
        Links control = links(parts, set, 2 * channel + 1, state);
        Wire wire = new Wire(data, patience);
        CostModel costs;
        try {
            costs = new Calibration(parts.clock(), parts.kernels()).run(topology, wire, near);
        } catch (RuntimeException | Error e) {
            wire.close();
            control.close();
            parts.state().forget(set.id(), state);
            throw e;
        }
        state.complete(0);
        AllreduceSelector selector = new AllreduceSelector(costs, parts.allreduce());
        ActivityLog activities = new ActivityLog(common.recorder());
        Backend backend =
                new CpuBackend(
                        near, new Across(topology, wire, selector), parts.kernels(), activities);
        backend.tune(parts.settings().tuning());
        Coordinator coordinator =
                rank == 0
                        ? new Coordinator(
                                set.ranks(),
                                rules(parts, backend),
                                parts.settings().tuning(),
                                reports(common.recorder(), set.id()))
                        : null;
        CycleAgent agent =
                new CycleAgent(
                        "hvd-cycle-" + parts.rank() + (set.id() == 0 ? "" : "-set-" + set.id()),
                        new AgentParts(
                                set.id(),
                                rank,
                                set.size(),
                                coordinator,
                                control,
                                backend,
                                new Dispatcher(backend, rank, set.ranks()),
                                state,
                                crowded,
                                parts.settings().tuning(),
                                common.recorder(),
                                activities,
                                parts.clock()),
                        common.tuner().watching(set, coordinator),
                        failure -> common.failures().explain(failure, set.ranks()));
        return new SetRuntime(state, backend, agent, control);
    }

    private static Links links(Parts parts, RankSet set, int channel, SetState state) {
        return new RankedLinks(parts.channels().open(channel, state), set.ranks());
    }

    private static Coordinator.Rules rules(Parts parts, Backend backend) {
        return new Coordinator.Rules(
                parts.settings().cacheCapacity(),
                parts.settings().groupFusion(),
                parts.settings().planLocking(),
                parts.settings().joinAverage() == JoinAverage.LIVE,
                backend::fusesFreely);
    }

    private static Coordinator.Watcher reports(Recorder recorder, int processSet) {
        return (tensor, from) -> {
            if (recorder.isOn()) {
                recorder.reported(processSet, tensor, from);
            }
        };
    }

    SetState state() {
        return state;
    }

    Backend backend() {
        return backend;
    }

    CycleAgent agent() {
        return agent;
    }

    /// What it is doing, for whoever asks.
    OfSet report(ProcessSet set) {
        long now = System.nanoTime();
        List<Pending> pending =
                agent.pending().stream()
                        .sorted(Comparator.comparingLong(Entry::serial))
                        .map(entry -> pending(entry, now))
                        .toList();
        Entry<Integer> joining = agent.joining();
        return OfSet.of(
                set.id(),
                set.ranks(),
                agent.describe(),
                new Progress(state.completed(), state.idleNanos() / NANOS_PER_MILLI),
                joining == null ? null : pending(joining, now),
                pending);
    }

    private static Pending pending(Entry<?> entry, long now) {
        return new Pending(
                entry.request().name(),
                entry.toString(),
                (now - entry.sinceNanos()) / NANOS_PER_MILLI);
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
