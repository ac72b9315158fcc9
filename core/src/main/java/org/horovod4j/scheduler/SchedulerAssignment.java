package org.horovod4j.scheduler;

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
        TaskRank world,
        @Nullable TaskRank local,
        @Nullable String host,
        @Nullable String job,
        @Nullable String firstHost) {
    /// One of so many, from 0.
    public record TaskRank(int rank, int size) {}

    /// Reads the environment of a process. Launchers come before schedulers: inside an allocation,
    /// processes of `mpirun` inherit the scheduler's variables of its daemons.
    ///
    /// @param self this process, whose ancestors tell what the variables do not
    /// @throws org.horovod4j.ConfigurationException when the variables contradict each other
    public static Optional<SchedulerAssignment> from(
            Map<String, String> environment, ProcessHandle self) {
        SchedulerVariables schedulerVariables = new SchedulerVariables(environment);
        return OpenMpi.find(schedulerVariables)
                .or(() -> Pmi.find(schedulerVariables, self))
                .or(() -> Slurm.find(schedulerVariables, self))
                .or(() -> Pmix.find(schedulerVariables));
    }

    static String origin(String rank, String size) {
        return "by " + rank + " and " + size;
    }
}
