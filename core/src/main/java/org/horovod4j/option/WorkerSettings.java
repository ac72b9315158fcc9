package org.horovod4j.option;

import org.horovod4j.ConfigurationException;
import org.jspecify.annotations.Nullable;

import java.net.InetAddress;
import java.net.UnknownHostException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Optional;

/// What a rank is started with. A process that is told nothing is a world of its own.
///
/// @param world this process among all
/// @param local this process among those of its host; null when the hosts' names are to decide
/// @param cross this host among those that have this local rank; null when the names are to decide
/// @param host the name of this host
/// @param rendezvous where the ranks meet; never null in a world of two or more
/// @param startTimeout how long the ranks wait for each other at the start
/// @param heartbeatTimeout how long a rank may be silent before it counts as lost
/// @param transport which ways between ranks may be used
/// @param shmFolder where the ranks of a host put the files they share
/// @param kernels which kernels do the arithmetic
/// @param allreduce which algorithm an allreduce uses between hosts
/// @param runtime how operations are run
public record WorkerSettings(
        Place world,
        @Nullable Place local,
        @Nullable Place cross,
        String host,
        @Nullable Rendezvous rendezvous,
        Duration startTimeout,
        Duration heartbeatTimeout,
        TransportChoice transport,
        Path shmFolder,
        KernelChoice kernels,
        AllreduceChoice allreduce,
        RuntimeSettings runtime) {

    /// Reads the settings and holds them against each other.
    ///
    /// @throws ConfigurationException when a value is not allowed, or the values do not fit together
    public static WorkerSettings from(Environment environment) {
        Optional<Place> told = Place.from(environment, Options.RANK, Options.SIZE);
        Optional<Place> local = Place.from(environment, Options.LOCAL_RANK, Options.LOCAL_SIZE);
        Optional<Place> cross = Place.from(environment, Options.CROSS_RANK, Options.CROSS_SIZE);
        Place world = told.orElse(Place.ALONE);
        boolean alone = world.size() == 1;
        if (told.isEmpty()) {
            checkMeansToBeAlone(environment);
        }
        checkFits(world, local, Options.LOCAL_SIZE);
        checkFits(world, cross, Options.CROSS_SIZE);
        return new WorkerSettings(
                world,
                alone ? Place.ALONE : local.orElse(null),
                alone ? Place.ALONE : cross.orElse(null),
                environment.find(Options.HOSTNAME).orElseGet(() -> nameOfThisHost(alone)),
                Rendezvous.from(environment, world).orElse(null),
                environment.get(Options.START_TIMEOUT),
                environment.get(Options.HEARTBEAT_TIMEOUT),
                environment.get(Options.TRANSPORT),
                Path.of(environment.get(Options.SHM_FOLDER)),
                environment.get(Options.KERNELS),
                environment.get(Options.ALLREDUCE_ALGORITHM),
                RuntimeSettings.from(environment));
    }

    public int rank() {
        return world.rank();
    }

    public int size() {
        return world.size();
    }

    /// Whether this process is the one that answers at the rendezvous address.
    public boolean servesRendezvous() {
        return rendezvous != null && rendezvous.host() == RendezvousHost.RANK0 && rank() == 0;
    }

    /// A process that knows where to meet others but not who it is would train alone, and so would
    /// all the others: each would look well, and their results would never be joined.
    private static void checkMeansToBeAlone(Environment environment) {
        if (environment.isSet(Options.RENDEZVOUS_ADDR)) {
            throw new ConfigurationException(
                    """
                    %s is set, but %s and %s are not
                    Set these too, or none of them for a world of one process."""
                            .formatted(Options.RENDEZVOUS_ADDR, Options.RANK, Options.SIZE));
        }
    }

    private static void checkFits(Place world, Optional<Place> part, Option<Integer> partSize) {
        if (part.isPresent() && part.get().size() > world.size()) {
            throw new ConfigurationException(
                    "%s is %d, but there are only %d processes (%s)"
                            .formatted(partSize, part.get().size(), world.size(), Options.SIZE));
        }
    }

    private static String nameOfThisHost(boolean alone) {
        if (alone) { // nobody to tell it from, and asking for the name may take seconds
            return "localhost";
        }
        try {
            return InetAddress.getLocalHost().getHostName();
        } catch (UnknownHostException e) {
            throw new ConfigurationException(
                    "this machine does not know its own name: set %s".formatted(Options.HOSTNAME),
                    e);
        }
    }
}
