package org.horovod4j.option;

import org.horovod4j.ConfigurationException;
import org.jspecify.annotations.Nullable;

import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.stream.Stream;

/// What a rank is started with. A process that is told nothing is a world of its own.
///
/// @param processIdentity this process among all
/// @param host the name of this host
/// @param rendezvousSettings where the ranks meet; never null in a world of two or more
/// @param startTimeout how long the ranks wait for each other at the start
/// @param heartbeatTimeout how long a rank may be silent before it counts as lost
/// @param interfaces those whose addresses this process tells others; empty for all
/// @param transport which ways between ranks may be used
/// @param shmFolder where the ranks of a host put the files they share
/// @param kernels which kernels do the arithmetic
/// @param allreduce which algorithm an allreduce uses between hosts
/// @param runtime how operations are run
/// @param elastic this process in an elastic job, which has yet to be told its rank; else null
public record WorkerSettings(
        ProcessIdentity processIdentity,
        String host,
        @Nullable RendezvousSettings rendezvousSettings,
        Duration startTimeout,
        Duration heartbeatTimeout,
        List<String> interfaces,
        TransportChoice transport,
        Path shmFolder,
        KernelChoice kernels,
        AllreduceChoice allreduce,
        RuntimeSettings runtime,
        @Nullable ElasticWorker elastic) {

    /// Reads the settings and holds them against each other.
    ///
    /// @throws ConfigurationException when a value is not allowed, or the values do not fit
    ///     together
    public static WorkerSettings from(Environment environment) {
        ProcessIdentity processIdentity = ProcessIdentity.from(environment);
        return new WorkerSettings(
                processIdentity,
                hostOf(processIdentity),
                RendezvousSettings.from(environment, processIdentity).orElse(null),
                environment.get(Options.START_TIMEOUT),
                environment.get(Options.HEARTBEAT_TIMEOUT),
                interfaces(environment),
                environment.get(Options.TRANSPORT),
                Path.of(environment.get(Options.SHM_FOLDER)),
                environment.get(Options.KERNELS),
                environment.get(Options.ALLREDUCE_ALGORITHM),
                RuntimeSettings.from(environment),
                ElasticWorker.from(environment).orElse(null));
    }

    /// The settings of a worker that has been told its place in a generation of an elastic job.
    public WorkerSettings withAssignment(
            int generation, RankAndSize world, RankAndSize local, RankAndSize cross) {
        return new WorkerSettings(
                processIdentity.withAssignment(world, local, cross, "in generation " + generation),
                host,
                rendezvousSettings,
                startTimeout,
                heartbeatTimeout,
                interfaces,
                transport,
                shmFolder,
                kernels,
                allreduce,
                runtime.forGeneration(generation),
                elastic);
    }

    public RankAndSize world() {
        return processIdentity.world();
    }

    /// This process among those of its host; null when the hosts' names are to decide.
    public @Nullable RankAndSize local() {
        return processIdentity.local();
    }

    /// This host among those that have this local rank; null when the names are to decide.
    public @Nullable RankAndSize cross() {
        return processIdentity.cross();
    }

    public int rank() {
        return world().rank();
    }

    public int size() {
        return world().size();
    }

    /// The interfaces that a list in the environment names; none of them means all there are.
    public static List<String> interfaces(Environment environment) {
        return environment
                .find(Options.NETWORK_INTERFACES)
                .map(text -> Stream.of(text.split(",")).map(String::strip))
                .orElseGet(Stream::empty)
                .filter(name -> !name.isEmpty())
                .toList();
    }

    private static String hostOf(ProcessIdentity processIdentity) {
        if (processIdentity.host() != null) {
            return processIdentity.host();
        }
        if (processIdentity.world().size() == 1) { // asking for the name may take seconds
            return "localhost";
        }
        return LocalHostName.find();
    }
}
