package org.horovod4j.scheduler;

import org.jspecify.annotations.Nullable;

import java.util.Map;
import java.util.Optional;

/// A process's place among those that a scheduler or an MPI launcher has started together.
///
/// @param origin the variables that say so, for logs and errors
/// @param local the same among the processes of this host; null when it is not said
/// @param host what the scheduler calls this host; null when it does not say
/// @param job a name that these processes share with each other and with no others; null when there
///     is none
/// @param firstHost the host of rank 0; null when it is not said
public record SchedulerAssignment(
        String origin,
        TaskRank world,
        @Nullable TaskRank local,
        @Nullable String host,
        @Nullable String job,
        @Nullable String firstHost) {
    /// One of so many, from 0.
    public record TaskRank(int rank, int size) {}

    /// What the environment of a process says. Launchers come before schedulers: `mpirun` inside an
    /// allocation leaves the scheduler's variables of its own daemons to the processes it starts.
    ///
    /// @param self where the process stands in the tree of processes, which tells what variables do
    ///     not
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
