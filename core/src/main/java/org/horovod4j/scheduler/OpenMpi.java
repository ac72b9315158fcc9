package org.horovod4j.scheduler;

import org.jspecify.annotations.Nullable;

import java.util.Optional;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/// Open MPI's `mpirun`, and IBM Spectrum MPI's, which is made from it.
final class OpenMpi {
    static final String RANK = "OMPI_COMM_WORLD_RANK";
    private static final String SIZE = "OMPI_COMM_WORLD_SIZE";

    /// Random, but only in versions before 5. There the namespace is a hash of few bits, which two
    /// runs may share; from version 5 on it names the host and process of `mpirun`.
    private static final String KEY = "OMPI_MCA_orte_precondition_transports";

    private OpenMpi() {}

    static Optional<Assignment> find(Variables variables) {
        return variables
                .pair(RANK, SIZE)
                .map(
                        world ->
                                new Assignment(
                                        Assignment.origin(RANK, SIZE),
                                        world,
                                        variables
                                                .pair(
                                                        "OMPI_COMM_WORLD_LOCAL_RANK",
                                                        "OMPI_COMM_WORLD_LOCAL_SIZE")
                                                .orElse(null),
                                        null,
                                        job(variables),
                                        null));
    }

    private static @Nullable String job(Variables variables) {
        Optional<String> namespace =
                variables
                        .find("PMIX_NAMESPACE")
                        .or(() -> variables.find("OMPI_MCA_ess_base_jobid"));
        String parts =
                Stream.concat(namespace.stream(), variables.find(KEY).stream())
                        .collect(Collectors.joining("-"));
        return parts.isEmpty() ? null : "ompi-" + parts;
    }
}
