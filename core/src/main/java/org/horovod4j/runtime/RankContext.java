package org.horovod4j.runtime;

import org.horovod4j.collectives.kernel.Kernels;
import org.horovod4j.option.AllreduceChoice;
import org.horovod4j.option.RuntimeSettings;
import org.horovod4j.runtime.controller.WorldState;
import org.horovod4j.runtime.device.DeviceLibraries;
import org.horovod4j.spi.ControlPlane;
import org.horovod4j.spi.HostBackendProvider;
import org.horovod4j.spi.RankAndSize;
import org.horovod4j.spi.RankInfo;
import org.horovod4j.transport.Clock;
import org.horovod4j.transport.LinkTransport;
import org.horovod4j.transport.SharedMemory;
import org.horovod4j.transport.Topology;
import org.jspecify.annotations.Nullable;

import java.util.List;
import java.util.function.Supplier;

/// What a rank has after it has joined: its number, its settings and its channels to the other
/// ranks. [Rank#start] builds the rank from it.
///
/// Tests pass another transport, a simulated network or a manual clock here.
///
/// @param rank this rank
/// @param members what each rank has published when it joined, by rank
/// @param control the slow, reliable channel to the other ranks; it has joined
/// @param state receives the events of `control`: lost ranks, ranks that left, requests for a report
/// @param memory shared with the ranks of this rank's memory domain, for the set of all ranks
/// @param sharedMemoryFactory shares memory for the other process sets
/// @param linkTransport opens links to the other ranks
/// @param clock for waiting
/// @param kernels for the arithmetic
/// @param allreduce which algorithm to use between hosts
/// @param local this rank on its host, as the launcher has set it; null to derive it from what the
///     ranks have published
/// @param cross this host among the hosts with this local rank, likewise
/// @param settings how operations are run, watched and recorded
/// @param hostBackends finds backends for tensors in main memory
/// @param deviceLibraries finds drivers and backends for devices, when the first device is used
public record RankContext(
        int rank,
        List<RankInfo> members,
        ControlPlane control,
        WorldState state,
        SharedMemory memory,
        SharedMemoryFactory sharedMemoryFactory,
        LinkTransport linkTransport,
        Clock clock,
        Kernels kernels,
        AllreduceChoice allreduce,
        @Nullable RankAndSize local,
        @Nullable RankAndSize cross,
        RuntimeSettings settings,
        Supplier<List<HostBackendProvider>> hostBackends,
        Supplier<DeviceLibraries> deviceLibraries) {
    public RankContext {
        members = List.copyOf(members);
    }

    /// A rank among hosts: the numbers by which programs choose devices.
    ///
    /// @param local this rank among the ranks of its host
    /// @param cross this host among the hosts with this local rank
    /// @param isHomogeneous whether all hosts have the same number of ranks
    record Placement(RankAndSize local, RankAndSize cross, boolean isHomogeneous) {}

    int size() {
        return members.size();
    }

    Topology topology() {
        return Topology.of(rank, members);
    }

    FailureHandler failureHandler() {
        return new FailureHandler(state, control);
    }

    /// The numbers that the process was given, unless a host has several names: a launcher then
    /// counts it several times.
    Placement placement() {
        Topology topology = topology();
        boolean hasAliases = Topology.firstNames(members).size() > topology.hosts().size();
        RankAndSize foundLocal = new RankAndSize(topology.localRank(), topology.localSize());
        RankAndSize foundCross = new RankAndSize(topology.crossRank(), topology.crossSize());
        return new Placement(
                local == null || hasAliases ? foundLocal : local,
                cross == null || hasAliases ? foundCross : cross,
                topology.isHomogeneous());
    }
}
