package org.horovod4j.option;

import org.horovod4j.ConfigurationException;
import org.horovod4j.scheduler.SchedulerAssignment;
import org.horovod4j.spi.RankAndSize;
import org.jspecify.annotations.Nullable;

import java.util.Optional;

/// The rank of a process, and where it comes from: options of Horovod4J, else the scheduler or MPI
/// launcher that started it. Without either, the process runs alone.
///
/// @param world the rank of this process among all
/// @param local its rank among those of its host; null to derive it from the host names
/// @param cross the rank of this host among those that have this local rank; null to derive it
/// @param host the name of this host, by an option or a scheduler; null when unknown
/// @param job a name that only the processes of this job share; null when unknown
/// @param firstHost the host of rank 0; null when unknown
/// @param origin where rank and size come from, as in "by HOROVOD_RANK and HOROVOD_SIZE"; empty
///     when there are none
public record ProcessIdentity(
        RankAndSize world,
        @Nullable RankAndSize local,
        @Nullable RankAndSize cross,
        @Nullable String host,
        @Nullable String job,
        @Nullable String firstHost,
        String origin) {
    private static final String OWN_ORIGIN = "by %s and %s".formatted(Options.RANK, Options.SIZE);

    /// Reads the rank of this process.
    ///
    /// @throws ConfigurationException when the variables are incomplete or contradict each other
    public static ProcessIdentity from(Environment environment) {
        if (ElasticWorker.from(environment).isPresent()) {
            return unassigned(environment);
        }
        Optional<RankAndSize> configured = read(environment, Options.RANK, Options.SIZE);
        Optional<SchedulerAssignment> assigned =
                configured.isPresent() ? Optional.empty() : environment.assignment();
        if (configured.isEmpty() && assigned.isEmpty()) {
            checkRendezvousNotSet(environment);
        }
        RankAndSize world =
                configured
                        .or(() -> assigned.map(SchedulerAssignment::world))
                        .orElse(RankAndSize.SINGLE);
        Optional<RankAndSize> local =
                read(environment, Options.LOCAL_RANK, Options.LOCAL_SIZE)
                        .or(() -> assigned.map(SchedulerAssignment::local));
        Optional<RankAndSize> cross = read(environment, Options.CROSS_RANK, Options.CROSS_SIZE);
        checkFits(world, local, Options.LOCAL_SIZE);
        checkFits(world, cross, Options.CROSS_SIZE);
        boolean alone = world.size() == 1;
        return new ProcessIdentity(
                world,
                alone ? RankAndSize.SINGLE : local.orElse(null),
                alone ? RankAndSize.SINGLE : cross.orElse(null),
                environment
                        .find(Options.HOSTNAME)
                        .or(() -> assigned.map(SchedulerAssignment::host))
                        .orElse(null),
                environment
                        .find(Options.JOB_ID)
                        .or(() -> assigned.map(SchedulerAssignment::job))
                        .orElse(null),
                assigned.map(SchedulerAssignment::firstHost).orElse(null),
                configured
                        .map(_ -> OWN_ORIGIN)
                        .or(() -> assigned.map(SchedulerAssignment::origin))
                        .orElse(""));
    }

    /// A worker of an elastic job. Its launcher assigns the rank later, so the scheduler's rank is
    /// ignored.
    private static ProcessIdentity unassigned(Environment environment) {
        return new ProcessIdentity(
                RankAndSize.SINGLE,
                RankAndSize.SINGLE,
                RankAndSize.SINGLE,
                environment.find(Options.HOSTNAME).orElse(null),
                environment.find(Options.JOB_ID).orElse(null),
                null,
                "");
    }

    /// The same process with its assigned rank.
    ProcessIdentity withAssignment(
            RankAndSize newWorld, RankAndSize newLocal, RankAndSize newCross, String newOrigin) {
        return new ProcessIdentity(newWorld, newLocal, newCross, host, job, firstHost, newOrigin);
    }

    /// A process with a rendezvous address but no rank would train alone, and so would all the
    /// others. Each would seem to work, but they would never share results.
    private static void checkRendezvousNotSet(Environment environment) {
        if (environment.isSet(Options.RENDEZVOUS_ADDR)) {
            throw new ConfigurationException(
                    """
                    %s is set, but %s and %s are not
                    Set these too, or none of them to run a single process."""
                            .formatted(Options.RENDEZVOUS_ADDR, Options.RANK, Options.SIZE));
        }
    }

    /// Reads a rank and a size, which must be set together.
    private static Optional<RankAndSize> read(
            Environment environment, Option<Integer> rankOption, Option<Integer> sizeOption) {
        Optional<Integer> rank = environment.find(rankOption);
        Optional<Integer> size = environment.find(sizeOption);
        if (rank.isEmpty() && size.isEmpty()) {
            return Optional.empty();
        }
        if (rank.isEmpty()) {
            throw incomplete(sizeOption, rankOption);
        }
        if (size.isEmpty()) {
            throw incomplete(rankOption, sizeOption);
        }
        if (rank.get() >= size.get()) {
            throw new ConfigurationException(
                    "%s is %d and %s is %d, but ranks go from 0 to %d"
                            .formatted(
                                    rankOption,
                                    rank.get(),
                                    sizeOption,
                                    size.get(),
                                    size.get() - 1));
        }
        return Optional.of(new RankAndSize(rank.get(), size.get()));
    }

    private static ConfigurationException incomplete(Option<?> given, Option<?> missing) {
        return new ConfigurationException(
                """
                %s is set, but %s is not
                Set both or neither; horovodrun sets them for each process it starts."""
                        .formatted(given, missing));
    }

    private static void checkFits(
            RankAndSize world, Optional<RankAndSize> part, Option<Integer> partSize) {
        if (part.isPresent() && part.get().size() > world.size()) {
            throw new ConfigurationException(
                    "%s is %d, but there are only %d processes (%s)"
                            .formatted(partSize, part.get().size(), world.size(), Options.SIZE));
        }
    }

    /// Whether options or a scheduler gave this process a rank.
    public boolean isAssigned() {
        return !origin.isEmpty();
    }

    /// "rank 3 of 8 (by SLURM_PROCID and SLURM_STEP_NUM_TASKS)".
    @Override
    public String toString() {
        return isAssigned()
                ? "rank %d of %d (%s)".formatted(world.rank(), world.size(), origin)
                : "a single process";
    }
}
