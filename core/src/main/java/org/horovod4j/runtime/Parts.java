package org.horovod4j.runtime;

import org.horovod4j.collectives.kernel.Kernels;
import org.horovod4j.option.AllreduceChoice;
import org.horovod4j.option.Position;
import org.horovod4j.option.RuntimeSettings;
import org.horovod4j.runtime.controller.WorldState;
import org.horovod4j.spi.ControlPlane;
import org.horovod4j.spi.Member;
import org.horovod4j.transport.Channels;
import org.horovod4j.transport.Clock;
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
/// @param sharing how process sets come to memory of their own
/// @param channels of links to all other ranks
/// @param clock for waiting
/// @param kernels for the arithmetic
/// @param allreduce which algorithm to use between hosts
/// @param local this rank's place on its host, if somebody has said it; else the hosts' names
///     decide
/// @param cross this host's place among the hosts with this local rank, likewise
/// @param settings how operations are run, watched and recorded
public record Parts(
        int rank,
        List<Member> members,
        ControlPlane control,
        WorldState state,
        SharedMemory memory,
        Sharing sharing,
        Channels channels,
        Clock clock,
        Kernels kernels,
        AllreduceChoice allreduce,
        @Nullable Position local,
        @Nullable Position cross,
        RuntimeSettings settings) {
    public Parts {
        members = List.copyOf(members);
    }
}
