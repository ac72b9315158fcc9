package org.horovod4j.launcher.command;

import org.horovod4j.option.Environment;

import java.util.List;
import java.util.Map;
import java.util.Optional;

/// A flag of Horovod that has no effect here. It is accepted, because existing job scripts use it.
/// Its notice says why it has no effect, with the message of the corresponding variable.
///
/// @param name the name without leading dashes
/// @param hasValue whether a value follows
record IgnoredFlag(String name, boolean hasValue, String variable) {
    private static final List<IgnoredFlag> ALL =
            List.of(
                    withoutValue("hierarchical-allgather", "HOROVOD_HIERARCHICAL_ALLGATHER"),
                    withoutValue("no-hierarchical-allgather", "HOROVOD_HIERARCHICAL_ALLGATHER"),
                    withoutValue("torus-allreduce", "HOROVOD_TORUS_ALLREDUCE"),
                    withoutValue("no-torus-allreduce", "HOROVOD_TORUS_ALLREDUCE"),
                    withoutValue("mpi-threads-disable", "HOROVOD_MPI_THREADS_DISABLE"),
                    withoutValue("no-mpi-threads-disable", "HOROVOD_MPI_THREADS_DISABLE"),
                    withValue("num-nccl-streams", "HOROVOD_NUM_NCCL_STREAMS"),
                    withValue("gloo-timeout-seconds", "HOROVOD_GLOO_TIMEOUT_SECONDS"));

    private static IgnoredFlag withoutValue(String name, String variable) {
        return new IgnoredFlag(name, false, variable);
    }

    private static IgnoredFlag withValue(String name, String variable) {
        return new IgnoredFlag(name, true, variable);
    }

    static List<IgnoredFlag> all() {
        return ALL;
    }

    static Optional<IgnoredFlag> named(String name) {
        return ALL.stream().filter(flag -> flag.name.equals(name)).findFirst();
    }

    String longName() {
        return "--" + name;
    }

    /// The message to the user.
    ///
    /// @param origin where the flag was given
    String notice(String origin) {
        List<String> warnings = new Environment(Map.of(variable, "1")).warnings();
        return origin + ": " + String.join(" ", warnings);
    }
}
