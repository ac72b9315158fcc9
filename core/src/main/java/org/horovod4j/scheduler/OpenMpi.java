package org.horovod4j.scheduler;

import org.jspecify.annotations.Nullable;

import java.util.Optional;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/// Open MPI's `mpirun`, and that of IBM Spectrum MPI, which is based on it.
final class OpenMpi {
    static final String RANK = "OMPI_COMM_WORLD_RANK";
    private static final String SIZE = "OMPI_COMM_WORLD_SIZE";

    /// A random key, only in versions before 5. There the namespace is a hash of few bits, which
    /// two runs may share. From version 5 on, the namespace contains the host and process of
    /// `mpirun`.
    private static final String KEY = "OMPI_MCA_orte_precondition_transports";

    private OpenMpi() {}

    static Optional<SchedulerAssignment> find(SchedulerVariables schedulerVariables) {
        return schedulerVariables
                .pair(RANK, SIZE)
                .map(
                        world ->
                                new SchedulerAssignment(
                                        SchedulerAssignment.origin(RANK, SIZE),
                                        world,
                                        schedulerVariables
                                                .pair(
                                                        "OMPI_COMM_WORLD_LOCAL_RANK",
                                                        "OMPI_COMM_WORLD_LOCAL_SIZE")
                                                .orElse(null),
                                        null,
                                        job(schedulerVariables),
                                        null));
    }

    private static @Nullable String job(SchedulerVariables schedulerVariables) {
        Optional<String> namespace =
                schedulerVariables
                        .find("PMIX_NAMESPACE")
                        .or(() -> schedulerVariables.find("OMPI_MCA_ess_base_jobid"));
        String parts =
                Stream.concat(namespace.stream(), schedulerVariables.find(KEY).stream())
                        .collect(Collectors.joining("-"));
        return parts.isEmpty() ? null : "ompi-" + parts;
    }
}
