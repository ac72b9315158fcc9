package org.horovod4j.runtime;

import org.horovod4j.collectives.kernel.Kernels;
import org.horovod4j.option.AllreduceChoice;
import org.horovod4j.option.RankAndSize;
import org.horovod4j.option.RuntimeSettings;
import org.horovod4j.runtime.controller.WorldState;
import org.horovod4j.spi.ControlPlane;
import org.horovod4j.spi.RankInfo;
import org.horovod4j.transport.Clock;
import org.horovod4j.transport.LinkTransport;
import org.horovod4j.transport.SharedMemory;
import org.jspecify.annotations.Nullable;

import java.util.List;

/// What a rank is made of, once it has met the others. Another transport, a simulated network or a
/// manual clock comes in here.
///
/// @param rank this rank
/// @param members everybody's cards
/// @param control the slow, reliable channel, joined
/// @param state what `control` tells its news to
/// @param memory shared with the ranks of this rank's domain
/// @param sharedMemoryFactory how process sets come to memory of their own
/// @param linkTransport of links to all other ranks
/// @param clock for waiting
/// @param kernels for the arithmetic
/// @param allreduce which algorithm to use between hosts
/// @param local this rank's place on its host, if somebody has said it; else the hosts' names
///     decide
/// @param cross this host's place among the hosts with this local rank, likewise
/// @param settings how operations are run, watched and recorded
public record RankComponents(
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
        RuntimeSettings settings) {
    public RankComponents {
        members = List.copyOf(members);
    }
}
