package org.horovod4j.runtime;

import org.horovod4j.ConfigurationException;
import org.horovod4j.collectives.kernel.Kernels;
import org.horovod4j.log.Log;
import org.horovod4j.option.Environment;
import org.horovod4j.option.KernelChoice;
import org.horovod4j.option.Options;
import org.horovod4j.option.Rendezvous;
import org.horovod4j.option.RuntimeSettings;
import org.horovod4j.option.WorkerSettings;
import org.horovod4j.rendezvous.LocalRendezvous;
import org.horovod4j.rendezvous.RendezvousClient;
import org.horovod4j.rendezvous.RendezvousServer;
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
import org.horovod4j.trust.Protection;
import org.horovod4j.trust.Secret;
import org.horovod4j.trust.SocketSettings;
import org.jspecify.annotations.Nullable;

import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Map;
import java.util.function.Supplier;
import java.util.stream.IntStream;

/// A process of a job: joins worlds, one after the other.
///
/// Where rank 0 itself serves the rendezvous, the server lives as long as the process, since the other
/// ranks may still need it when rank 0 has left a world.
public final class HvdRuntime implements AutoCloseable {
    private static final Logger LOG = Log.of(HvdRuntime.class);

    private final WorkerSettings settings;
    private final Kernels kernels;
    private volatile @Nullable RendezvousServer server;
    private int generation;

    /// @param environment the variables of the process
    /// @throws ConfigurationException when they are wrong
    public HvdRuntime(Map<String, String> environment) {
        Environment options = new Environment(environment);
        Log.configure(RuntimeSettings.log(options), options.find(Options.RANK).orElse(null));
        options.warnings().forEach(warning -> LOG.log(Level.WARNING, warning));
        this.settings = WorkerSettings.from(options);
        this.kernels =
                settings.kernels() == KernelChoice.SCALAR ? Kernels.scalar() : Kernels.best();
    }

    /// Joins the next world of the job and returns when all ranks have.
    public Rank start() {
        Rendezvous rendezvous = settings.rendezvous();
        Rank rank = rendezvous == null ? alone() : together(rendezvous);
        LOG.log(
                Level.DEBUG,
                () ->
                        "rank %d of %d on %s: %s"
                                .formatted(
                                        settings.rank(),
                                        settings.size(),
                                        settings.host(),
                                        kernels.description()));
        return rank;
    }

    /// Ends the service to other ranks, if this process has one: the process itself ends. Ranks that are
    /// still at it get as long as it takes to notice a silent one among them.
    @Override
    public void close() {
        RendezvousServer serving = server;
        if (serving != null) {
            serving.awaitDepartures(settings.heartbeatTimeout());
            serving.close();
        }
    }

    private Rank alone() {
        WorldState state = new WorldState();
        ControlPlane control = new LocalRendezvous(1).controlPlane(0);
        Member self = new Member(0, settings.host(), "alone", pid(), "", List.of());
        List<Member> members = control.join(self, state);
        return Rank.of(
                parts(
                        members,
                        control,
                        state,
                        new LocalDomain(List.of(0)).memory(0),
                        HostSharing.withNobody(),
                        new LocalChannels(new Exchange(), 0)));
    }

    private Rank together(Rendezvous rendezvous) {
        Protection protection = Protection.of(settings.runtime().tls());
        Secret secret = Secret.decode(rendezvous.secret().text()).with(protection);
        if (settings.servesRendezvous() && server == null) {
            server = serve(secret, rendezvous.address().getPort());
        }
        TcpChannels channels =
                TcpChannels.listen(secret, settings.rank(), settings.startTimeout(), tuning());
        try {
            HostSharing sharing = HostSharing.of(settings);
            Sharing.Space space = sharing.open(0);
            try {
                return join(rendezvous, secret, channels, sharing, space);
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
            Rendezvous rendezvous,
            Secret secret,
            TcpChannels channels,
            HostSharing sharing,
            Sharing.Space space) {
        WorldState state = new WorldState();
        int world = generation++;
        ControlPlane control =
                new RendezvousClient(
                        secret,
                        List.of(rendezvous.address()),
                        serverRank(rendezvous),
                        settings.rank(),
                        settings.size(),
                        world,
                        settings.heartbeatTimeout(),
                        settings.startTimeout());
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
            channels.meet(members, world);
            SharedMemory memory = explained(state, () -> space.meet(members, settings.rank()));
            // A rank that is through may end at once, and its memory must be mapped by then.
            checkSame(control.gather("memory mapped", mustAgree()));
            space.met();
            return explained(
                    state,
                    () -> Rank.of(parts(members, control, state, memory, sharing, channels)));
        } catch (RuntimeException | Error e) {
            control.leave(Map.of(), false, "could not start: " + e.getMessage());
            control.close();
            throw e;
        }
    }

    /// Maps memory or measures links of ranks that have joined. One of them may end just now, which shows
    /// as memory that cannot be mapped or as a broken link.
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

    private static int serverRank(Rendezvous rendezvous) {
        return switch (rendezvous.host()) {
            case RANK0 -> 0;
            case LAUNCHER -> RendezvousClient.LAUNCHER;
        };
    }

    private RendezvousServer serve(Secret secret, int port) {
        return RendezvousServer.start(
                secret,
                settings.size(),
                new InetSocketAddress(port),
                settings.heartbeatTimeout(),
                settings.startTimeout());
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
