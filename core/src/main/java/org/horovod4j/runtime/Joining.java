package org.horovod4j.runtime;

import org.horovod4j.ConfigurationException;
import org.horovod4j.Membership;
import org.horovod4j.collectives.kernel.Kernels;
import org.horovod4j.network.LocalAddresses;
import org.horovod4j.option.Options;
import org.horovod4j.option.WorkerSettings;
import org.horovod4j.rendezvous.LocalRendezvous;
import org.horovod4j.runtime.autotune.Autotuner;
import org.horovod4j.runtime.controller.WorldState;
import org.horovod4j.spi.ControlPlane;
import org.horovod4j.spi.Member;
import org.horovod4j.transport.Channels;
import org.horovod4j.transport.Clock;
import org.horovod4j.transport.LinkBrokenException;
import org.horovod4j.transport.SharedMemory;
import org.horovod4j.transport.local.Exchange;
import org.horovod4j.transport.local.LocalChannels;
import org.horovod4j.transport.local.LocalDomain;
import org.horovod4j.transport.tcp.TcpChannels;
import org.horovod4j.transport.tcp.TcpTuning;
import org.horovod4j.trust.SocketSettings;
import org.jspecify.annotations.Nullable;

import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Map;
import java.util.function.Supplier;
import java.util.stream.IntStream;

/// One process on its way into one world: it meets the others and becomes a rank.
///
/// @param settings of the process, at its rank
/// @param before the autotuner of the world before, if it was this process's
record Joining(
        WorkerSettings settings,
        Membership membership,
        Kernels kernels,
        @Nullable Autotuner before) {
    /// A world of one.
    Rank alone() {
        WorldState state = new WorldState();
        ControlPlane control = new LocalRendezvous(1).controlPlane(0);
        Member self = new Member(0, settings.host(), "alone", pid(), "", List.of());
        List<Member> members = control.join(self, state);
        return rank(
                parts(
                        members,
                        control,
                        state,
                        new LocalDomain(List.of(0)).memory(0),
                        HostSharing.withNobody(),
                        new LocalChannels(new Exchange(), 0)));
    }

    /// A world of those who come to one place.
    Rank others(Supplier<MeetingPoint> place) {
        // Before anybody waits for this rank: it may have been told of interfaces that are
        // not here.
        LocalAddresses addresses = LocalAddresses.among(settings.interfaces());
        MeetingPoint point = place.get();
        TcpChannels channels =
                TcpChannels.listen(
                        point.secret(),
                        settings.rank(),
                        addresses,
                        settings.startTimeout(),
                        tuning());
        try {
            HostSharing sharing = HostSharing.of(settings);
            Sharing.Space space = sharing.open(0);
            try {
                return join(point, channels, sharing, space);
            } catch (RuntimeException | Error e) {
                space.close();
                throw e;
            }
        } catch (RuntimeException | Error e) {
            channels.close();
            throw e;
        }
    }

    private Rank join(
            MeetingPoint point, TcpChannels channels, HostSharing sharing, Sharing.Space space) {
        WorldState state = new WorldState();
        int world = membership.generation();
        ControlPlane control = point.client(settings, world);
        Member self =
                new Member(
                        settings.rank(),
                        settings.host(),
                        sharing.domain(),
                        pid(),
                        space.address(),
                        channels.addresses());
        try {
            List<Member> members = control.join(self, state);
            point.settled(); // before anybody can end and a next run look for its own
            channels.meet(members, world);
            SharedMemory memory = explained(state, () -> space.meet(members, settings.rank()));
            // A rank that is through may end at once, and its memory must be mapped by then.
            checkSame(control.gather("memory mapped", mustAgree()));
            space.met();
            return explained(
                    state, () -> rank(parts(members, control, state, memory, sharing, channels)));
        } catch (RuntimeException | Error e) {
            control.leave(Map.of(), false, "could not start: " + e.getMessage());
            control.close();
            throw e;
        }
    }

    /// Maps memory or measures links of ranks that have joined. One of them may end just now, which
    /// shows as memory that cannot be mapped or as a broken link.
    private <T> T explained(WorldState state, Supplier<T> meeting) {
        try {
            return meeting.get();
        } catch (ConfigurationException | LinkBrokenException e) {
            throw state.explain(e, all());
        }
    }

    private List<Integer> all() {
        return IntStream.range(0, settings.size()).boxed().toList();
    }

    private Rank rank(Parts parts) {
        return Rank.of(parts, membership, before);
    }

    private Parts parts(
            List<Member> members,
            ControlPlane control,
            WorldState state,
            SharedMemory memory,
            Sharing sharing,
            Channels channels) {
        return new Parts(
                settings.rank(),
                members,
                control,
                state,
                memory,
                sharing,
                channels,
                Clock.SYSTEM,
                kernels,
                settings.allreduce(),
                settings.local(),
                settings.cross(),
                settings.runtime());
    }

    /// What ranks would not understand each other without.
    private byte[] mustAgree() {
        return Options.ALLREDUCE_ALGORITHM
                .format(settings.allreduce())
                .getBytes(StandardCharsets.UTF_8);
    }

    private static void checkSame(List<byte[]> algorithms) {
        List<String> given =
                algorithms.stream()
                        .map(bytes -> new String(bytes, StandardCharsets.UTF_8))
                        .toList();
        if (given.stream().distinct().count() > 1) {
            throw new ConfigurationException(
                    """
                    %s differs between ranks: from rank 0 on it is %s
                    Give every rank the same."""
                            .formatted(Options.ALLREDUCE_ALGORITHM, String.join(", ", given)));
        }
    }

    private TcpTuning tuning() {
        int streams = settings.runtime().tuning().streams();
        return streams == 0
                ? TcpTuning.DEFAULT
                : new TcpTuning(streams, streams, SocketSettings.DEFAULT);
    }

    private static long pid() {
        return ProcessHandle.current().pid();
    }
}
