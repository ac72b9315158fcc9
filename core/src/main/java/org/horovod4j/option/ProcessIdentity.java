package org.horovod4j.option;

import org.horovod4j.ConfigurationException;
import org.horovod4j.scheduler.SchedulerAssignment;
import org.jspecify.annotations.Nullable;

import java.util.Optional;

/// Who a process is among all, and who has said so: options of ours, or else the scheduler or MPI
/// launcher that started it. A process that nobody has told anything is alone.
///
/// @param world this process among all
/// @param local this process among those of its host; null when the hosts' names are to decide
/// @param cross this host among those that have this local rank; null when the names are to decide
/// @param host the name that a scheduler gives this host, unless an option names it; null when
///     nobody does
/// @param job what the processes of this job alone call it; null when nobody has named it
/// @param firstHost the host of rank 0, where a scheduler says which that is
/// @param origin where the numbers are from, as in "by HOROVOD_RANK and HOROVOD_SIZE"; empty when
///     there are none
public record ProcessIdentity(
        RankAndSize world,
        @Nullable RankAndSize local,
        @Nullable RankAndSize cross,
        @Nullable String host,
        @Nullable String job,
        @Nullable String firstHost,
        String origin) {
    private static final String OWN_ORIGIN = "by %s and %s".formatted(Options.RANK, Options.SIZE);

    /// Reads who this process is.
    ///
    /// @throws ConfigurationException when only half of it is said, or it contradicts itself
    public static ProcessIdentity from(Environment environment) {
        if (ElasticWorker.from(environment).isPresent()) {
            return unassigned(environment);
        }
        Optional<RankAndSize> told = RankAndSize.from(environment, Options.RANK, Options.SIZE);
        Optional<SchedulerAssignment> assigned =
                told.isPresent() ? Optional.empty() : environment.assignment();
        if (told.isEmpty() && assigned.isEmpty()) {
            checkRendezvousNotSet(environment);
        }
        RankAndSize world =
                told.or(
                                () ->
                                        assigned.map(SchedulerAssignment::world)
                                                .map(ProcessIdentity::rankAndSize))
                        .orElse(RankAndSize.SINGLE);
        Optional<RankAndSize> local =
                RankAndSize.from(environment, Options.LOCAL_RANK, Options.LOCAL_SIZE)
                        .or(
                                () ->
                                        assigned.map(SchedulerAssignment::local)
                                                .map(ProcessIdentity::rankAndSize));
        Optional<RankAndSize> cross =
                RankAndSize.from(environment, Options.CROSS_RANK, Options.CROSS_SIZE);
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
                told.map(_ -> OWN_ORIGIN)
                        .or(() -> assigned.map(SchedulerAssignment::origin))
                        .orElse(""));
    }

    /// A worker of an elastic job, whose launcher says later who it is: schedulers count other
    /// processes.
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

    /// The same process, now that it is known who it is.
    ProcessIdentity withAssignment(
            RankAndSize newWorld, RankAndSize newLocal, RankAndSize newCross, String newOrigin) {
        return new ProcessIdentity(newWorld, newLocal, newCross, host, job, firstHost, newOrigin);
    }

    /// A process that knows where to meet others but not who it is would train alone, and so would
    /// all the others: each would look well, and their results would never be joined.
    private static void checkRendezvousNotSet(Environment environment) {
        if (environment.isSet(Options.RENDEZVOUS_ADDR)) {
            throw new ConfigurationException(
                    """
                    %s is set, but %s and %s are not
                    Set these too, or none of them for a world of one process."""
                            .formatted(Options.RENDEZVOUS_ADDR, Options.RANK, Options.SIZE));
        }
    }

    private static RankAndSize rankAndSize(SchedulerAssignment.TaskRank taskRank) {
        return new RankAndSize(taskRank.rank(), taskRank.size());
    }

    private static void checkFits(
            RankAndSize world, Optional<RankAndSize> part, Option<Integer> partSize) {
        if (part.isPresent() && part.get().size() > world.size()) {
            throw new ConfigurationException(
                    "%s is %d, but there are only %d processes (%s)"
                            .formatted(partSize, part.get().size(), world.size(), Options.SIZE));
        }
    }

    /// Whether somebody has said that this process is one of several, or of one.
    public boolean isAssigned() {
        return !origin.isEmpty();
    }

    /// "rank 3 of 8 (by SLURM_PROCID and SLURM_STEP_NUM_TASKS)".
    @Override
    public String toString() {
        return isAssigned()
                ? "rank %d of %d (%s)".formatted(world.rank(), world.size(), origin)
                : "a world of one process";
    }
}
