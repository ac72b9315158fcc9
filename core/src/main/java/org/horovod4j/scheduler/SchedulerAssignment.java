package org.horovod4j.scheduler;

import org.horovod4j.ConfigurationException;
import org.horovod4j.spi.RankAndSize;
import org.jspecify.annotations.Nullable;

import java.util.Map;
import java.util.Optional;

/// The rank that a scheduler or MPI launcher gave this process.
///
/// @param origin the variables that say so, for logs and errors
/// @param local the rank among the processes of this host; null when unknown
/// @param host the scheduler's name of this host; null when unknown
/// @param job a name that only these processes share; null when there is none
/// @param firstHost the host of rank 0; null when unknown
public record SchedulerAssignment(
        String origin,
        RankAndSize world,
        @Nullable RankAndSize local,
        @Nullable String host,
        @Nullable String job,
        @Nullable String firstHost) {
    private static final String PMIX_RANK = "PMIX_RANK";

    /// Reads the environment of a process. Launchers come before schedulers: inside an allocation,
    /// processes of `mpirun` inherit the scheduler's variables of its daemons.
    ///
    /// @param self this process, whose ancestors tell what the variables do not
    /// @throws ConfigurationException when the variables contradict each other
    public static Optional<SchedulerAssignment> from(
            Map<String, String> environment, ProcessHandle self) {
        SchedulerVariables schedulerVariables = new SchedulerVariables(environment);
        return OpenMpi.find(schedulerVariables)
                .or(() -> Pmi.find(schedulerVariables, self))
                .or(() -> Slurm.find(schedulerVariables, self))
                .or(() -> refuseUnknownPmix(schedulerVariables));
    }

    /// PMIx sets the rank in a variable and offers all else only through its library. The launchers
    /// above that use it have their own variables, so this is an unknown one. A process that ran
    /// alone would hide that there are others.
    private static Optional<SchedulerAssignment> refuseUnknownPmix(SchedulerVariables variables) {
        return variables
                .find(PMIX_RANK)
                .map(
                        rank -> {
                            throw new ConfigurationException(
                                    """
                                    %s is %s, but no variable says how many processes there are
                                    Set HOROVOD_RANK to $%1$s and HOROVOD_SIZE to their number, or unset %1$s to run \
                                    a single process."""
                                            .formatted(PMIX_RANK, rank));
                        });
    }

    static String origin(String rank, String size) {
        return "by " + rank + " and " + size;
    }
}
