package org.horovod4j.option;

import org.horovod4j.ConfigurationException;
import org.horovod4j.scheduler.Assignment;
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
public record Identity(
        Position world,
        @Nullable Position local,
        @Nullable Position cross,
        @Nullable String host,
        @Nullable String job,
        @Nullable String firstHost,
        String origin) {
    private static final String OWN_ORIGIN = "by %s and %s".formatted(Options.RANK, Options.SIZE);

    /// Reads who this process is.
    ///
    /// @throws ConfigurationException when only half of it is said, or it contradicts itself
    public static Identity from(Environment environment) {
        if (ElasticWorker.from(environment).isPresent()) {
            return nobodyYet(environment);
        }
        Optional<Position> told = Position.from(environment, Options.RANK, Options.SIZE);
        Optional<Assignment> assigned =
                told.isPresent() ? Optional.empty() : environment.assignment();
        if (told.isEmpty() && assigned.isEmpty()) {
            checkMeansToBeAlone(environment);
        }
        Position world =
                told.or(() -> assigned.map(Assignment::world).map(Identity::position))
                        .orElse(Position.ALONE);
        Optional<Position> local =
                Position.from(environment, Options.LOCAL_RANK, Options.LOCAL_SIZE)
                        .or(() -> assigned.map(Assignment::local).map(Identity::position));
        Optional<Position> cross =
                Position.from(environment, Options.CROSS_RANK, Options.CROSS_SIZE);
        checkFits(world, local, Options.LOCAL_SIZE);
        checkFits(world, cross, Options.CROSS_SIZE);
        boolean alone = world.size() == 1;
        return new Identity(
                world,
                alone ? Position.ALONE : local.orElse(null),
                alone ? Position.ALONE : cross.orElse(null),
                environment
                        .find(Options.HOSTNAME)
                        .or(() -> assigned.map(Assignment::host))
                        .orElse(null),
                environment
                        .find(Options.JOB_ID)
                        .or(() -> assigned.map(Assignment::job))
                        .orElse(null),
                assigned.map(Assignment::firstHost).orElse(null),
                told.map(_ -> OWN_ORIGIN).or(() -> assigned.map(Assignment::origin)).orElse(""));
    }

    /// A worker of an elastic job, whose launcher says later who it is: schedulers count other
    /// processes.
    private static Identity nobodyYet(Environment environment) {
        return new Identity(
                Position.ALONE,
                Position.ALONE,
                Position.ALONE,
                environment.find(Options.HOSTNAME).orElse(null),
                environment.find(Options.JOB_ID).orElse(null),
                null,
                "");
    }

    /// The same process, now that it is known who it is.
    Identity at(Position newWorld, Position newLocal, Position newCross, String newOrigin) {
        return new Identity(newWorld, newLocal, newCross, host, job, firstHost, newOrigin);
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

    private static Position position(Assignment.Numbers numbers) {
        return new Position(numbers.rank(), numbers.size());
    }

    private static void checkFits(
            Position world, Optional<Position> part, Option<Integer> partSize) {
        if (part.isPresent() && part.get().size() > world.size()) {
            throw new ConfigurationException(
                    "%s is %d, but there are only %d processes (%s)"
                            .formatted(partSize, part.get().size(), world.size(), Options.SIZE));
        }
    }

    /// Whether somebody has said that this process is one of several, or of one.
    public boolean isTold() {
        return !origin.isEmpty();
    }

    /// "rank 3 of 8 (by SLURM_PROCID and SLURM_STEP_NUM_TASKS)".
    @Override
    public String toString() {
        return isTold()
                ? "rank %d of %d (%s)".formatted(world.rank(), world.size(), origin)
                : "a world of one process";
    }
}
