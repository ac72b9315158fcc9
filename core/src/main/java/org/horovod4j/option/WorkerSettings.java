package org.horovod4j.option;

import org.horovod4j.ConfigurationException;
import org.horovod4j.spi.RankAndSize;
import org.jspecify.annotations.Nullable;

import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.stream.Stream;

/// The settings of a rank. A process without settings runs alone.
///
/// @param processIdentity the rank of this process
/// @param host the name of this host
/// @param rendezvousSettings how the ranks find each other; never null with two or more ranks
/// @param startTimeout how long the ranks wait for each other at the start
/// @param heartbeatTimeout how long a rank may be silent before it is declared lost
/// @param interfaces those whose addresses this process publishes; empty for all
/// @param transport how ranks exchange data
/// @param shmFolder where the ranks of a host create the files they share
/// @param kernels the arithmetic
/// @param allreduce the algorithm of an allreduce between hosts
/// @param runtime how operations run
/// @param elastic this process in an elastic job, which has no rank yet; else null
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

    /// Which kernels do the arithmetic.
    public enum KernelChoice {
        /// Vector instructions, if the JVM has them.
        AUTO,
        SCALAR
    }

    /// How ranks exchange data.
    public enum TransportChoice {
        /// Shared memory inside a host, TCP between hosts.
        AUTO,
        TCP
    }

    /// Reads the settings and checks them.
    ///
    /// @throws ConfigurationException when a value is not allowed, or the values contradict each
    ///     other
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

    /// The settings of a worker that was assigned a rank in a generation of an elastic job.
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

    /// The rank among the processes of this host; null to derive it from the host names.
    public @Nullable RankAndSize local() {
        return processIdentity.local();
    }

    /// The rank of this host among those that have this local rank; null to derive it.
    public @Nullable RankAndSize cross() {
        return processIdentity.cross();
    }

    /// Whether all ranks run on this host, as launcher or scheduler say. False if that is unknown.
    public boolean isSingleHost() {
        RankAndSize local = local();
        return local != null && local.size() == size();
    }

    public int rank() {
        return world().rank();
    }

    public int size() {
        return world().size();
    }

    /// The interfaces that the environment lists; empty for all.
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
        if (processIdentity.world().size() == 1) { // resolving the name may take seconds
            return "localhost";
        }
        return LocalHostName.find();
    }
}
