package org.horovod4j.runtime;

import org.horovod4j.ConfigurationException;
import org.horovod4j.collectives.kernel.Kernels;
import org.horovod4j.elastic.registry.GenerationMembership;
import org.horovod4j.log.Log;
import org.horovod4j.network.LocalAddresses;
import org.horovod4j.network.MachineIdentity;
import org.horovod4j.option.Options;
import org.horovod4j.option.WorkerSettings;
import org.horovod4j.rendezvous.LocalRendezvous;
import org.horovod4j.runtime.autotune.Autotuner;
import org.horovod4j.runtime.backend.HostBackends;
import org.horovod4j.runtime.controller.WorldState;
import org.horovod4j.runtime.device.DeviceLibraries;
import org.horovod4j.spi.ControlPlane;
import org.horovod4j.spi.RankInfo;
import org.horovod4j.transport.Clock;
import org.horovod4j.transport.LinkBrokenException;
import org.horovod4j.transport.LinkTransport;
import org.horovod4j.transport.SharedMemory;
import org.horovod4j.transport.Topology;
import org.horovod4j.transport.local.LocalMemoryDomain;
import org.horovod4j.transport.local.LocalRings;
import org.horovod4j.transport.local.LocalTransport;
import org.horovod4j.transport.tcp.TcpTransport;
import org.horovod4j.transport.tcp.TcpTuning;
import org.jspecify.annotations.Nullable;

import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Map;
import java.util.function.Supplier;
import java.util.stream.IntStream;

/// Joins one process to one world: finds the other ranks, connects to them and starts a rank.
///
/// @param settings of the process, with its rank
/// @param previousAutotuner the autotuner of the generation before, if this process had one
record RankBootstrap(
        WorkerSettings settings,
        GenerationMembership membership,
        Kernels kernels,
        @Nullable Autotuner previousAutotuner) {
    private static final Logger LOGGER = Log.of(RankBootstrap.class);

    /// Starts the only rank of a job.
    Rank startAlone() {
        WorldState state = new WorldState();
        ControlPlane control = new LocalRendezvous(1).controlPlane(0);
        RankInfo self = new RankInfo(0, settings.host(), "", "alone", pid(), "", List.of());
        List<RankInfo> members = control.join(self, state);
        return rank(
                context(
                        members,
                        control,
                        state,
                        new LocalMemoryDomain(List.of(0)).memory(0),
                        HostSharedMemoryFactory.disabled(),
                        new LocalTransport(new LocalRings(), 0)));
    }

    /// Starts a rank that joins others at a rendezvous.
    Rank startWithOthers(Supplier<RendezvousEndpoint> place) {
        // First, before other ranks wait for this one: the options may name network
        // interfaces that do not exist.
        LocalAddresses addresses = RendezvousEndpoint.listenAddresses(settings);
        RendezvousEndpoint point = place.get();
        TcpTransport channels =
                TcpTransport.listen(
                        point.secret(),
                        settings.rank(),
                        addresses,
                        settings.startTimeout(),
                        TcpTuning.of(
                                settings.runtime().tuning().streams(),
                                settings.heartbeatTimeout()));
        try {
            HostSharedMemoryFactory sharing = HostSharedMemoryFactory.of(settings);
            SharedMemoryFactory.Region region = sharing.open(0);
            try {
                return join(point, channels, sharing, region);
            } catch (RuntimeException | Error e) {
                region.close();
                throw e;
            }
        } catch (RuntimeException | Error e) {
            channels.close();
            throw e;
        }
    }

    private Rank join(
            RendezvousEndpoint point,
            TcpTransport channels,
            HostSharedMemoryFactory sharing,
            SharedMemoryFactory.Region region) {
        WorldState state = new WorldState();
        int world = membership.generation();
        ControlPlane control = point.client(settings, world);
        RankInfo self =
                new RankInfo(
                        settings.rank(),
                        settings.host(),
                        MachineIdentity.find().map(MachineIdentity::key).orElse(settings.host()),
                        sharing.domain(),
                        pid(),
                        region.address(),
                        channels.addresses());
        try {
            List<RankInfo> members = control.join(self, state);
            point.allJoined(); // before a rank can end and a next run look for its own server
            channels.setMembers(members, world);
            warnAboutAlias(members);
            SharedMemory memory = explainingLoss(state, () -> region.map(members, settings.rank()));
            // A rank that has passed this may end at once: its memory must be mapped before.
            checkSameAlgorithm(control.allgather("memory mapped", commonSettings()));
            region.unlink();
            return explainingLoss(
                    state, () -> rank(context(members, control, state, memory, sharing, channels)));
        } catch (RuntimeException | Error e) {
            control.leave(Map.of(), false, "could not start: " + e.getMessage());
            control.close();
            throw e;
        }
    }

    /// Warns once for each further name of a host: on the first rank that has that name.
    private void warnAboutAlias(List<RankInfo> members) {
        String host = settings.host();
        String first = Topology.firstNames(members).getOrDefault(host, host);
        int firstRank =
                members.stream()
                        .filter(it -> it.host().equals(host))
                        .findFirst()
                        .orElseThrow()
                        .rank();
        if (!first.equals(host) && firstRank == settings.rank()) {
            LOGGER.log(
                    Level.WARNING,
                    "Hosts %s and %s are the same machine. Its ranks are numbered as those of one host. Name it once, with all its slots."
                            .formatted(first, host));
        }
    }

    /// Maps memory or measures links of ranks that have joined. If one of them ends meanwhile, its
    /// memory cannot be mapped or its link is broken.
    private <T> T explainingLoss(WorldState state, Supplier<T> meeting) {
        try {
            return meeting.get();
        } catch (ConfigurationException | LinkBrokenException e) {
            throw state.explain(e, allRanks());
        }
    }

    private List<Integer> allRanks() {
        return IntStream.range(0, settings.size()).boxed().toList();
    }

    private Rank rank(RankContext context) {
        return Rank.start(context, membership, previousAutotuner);
    }

    private RankContext context(
            List<RankInfo> members,
            ControlPlane control,
            WorldState state,
            SharedMemory memory,
            SharedMemoryFactory sharedMemoryFactory,
            LinkTransport linkTransport) {
        return new RankContext(
                settings.rank(),
                members,
                control,
                state,
                memory,
                sharedMemoryFactory,
                linkTransport,
                Clock.SYSTEM,
                kernels,
                settings.allreduce(),
                settings.local(),
                settings.cross(),
                settings.runtime(),
                HostBackends::load,
                DeviceLibraries::load);
    }

    /// The settings that must be equal on all ranks.
    private byte[] commonSettings() {
        return Options.ALLREDUCE_ALGORITHM
                .format(settings.allreduce())
                .getBytes(StandardCharsets.UTF_8);
    }

    private static void checkSameAlgorithm(List<byte[]> algorithms) {
        List<String> given =
                algorithms.stream()
                        .map(bytes -> new String(bytes, StandardCharsets.UTF_8))
                        .toList();
        if (given.stream().distinct().count() > 1) {
            throw new ConfigurationException(
                    """
                    %s differs between ranks: it is, by rank, %s
                    Set the same value on every rank."""
                            .formatted(Options.ALLREDUCE_ALGORITHM, String.join(", ", given)));
        }
    }

    private static long pid() {
        return ProcessHandle.current().pid();
    }
}
