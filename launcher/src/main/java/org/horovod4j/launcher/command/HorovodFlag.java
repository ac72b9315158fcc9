package org.horovod4j.launcher.command;

import org.horovod4j.option.Environment;

import java.util.List;
import java.util.Map;
import java.util.Optional;

/// A flag of Horovod that has no meaning here. Job scripts bring it along, so it is accepted, and
/// the user is told why it does nothing: in the words for the variable that Horovod would set.
///
/// @param name without dashes in front
/// @param isValued whether a value follows
record HorovodFlag(String name, boolean isValued, String variable) {
    private static final List<HorovodFlag> ALL =
            List.of(
                    alone("hierarchical-allreduce", "HOROVOD_HIERARCHICAL_ALLREDUCE"),
                    alone("no-hierarchical-allreduce", "HOROVOD_HIERARCHICAL_ALLREDUCE"),
                    alone("hierarchical-allgather", "HOROVOD_HIERARCHICAL_ALLGATHER"),
                    alone("no-hierarchical-allgather", "HOROVOD_HIERARCHICAL_ALLGATHER"),
                    alone("torus-allreduce", "HOROVOD_TORUS_ALLREDUCE"),
                    alone("no-torus-allreduce", "HOROVOD_TORUS_ALLREDUCE"),
                    alone("mpi-threads-disable", "HOROVOD_MPI_THREADS_DISABLE"),
                    alone("no-mpi-threads-disable", "HOROVOD_MPI_THREADS_DISABLE"),
                    valued("num-nccl-streams", "HOROVOD_NUM_NCCL_STREAMS"),
                    valued("thread-affinity", "HOROVOD_THREAD_AFFINITY"),
                    valued("gloo-timeout-seconds", "HOROVOD_GLOO_TIMEOUT_SECONDS"));

    private static HorovodFlag alone(String name, String variable) {
        return new HorovodFlag(name, false, variable);
    }

    private static HorovodFlag valued(String name, String variable) {
        return new HorovodFlag(name, true, variable);
    }

    static List<HorovodFlag> all() {
        return ALL;
    }

    static Optional<HorovodFlag> named(String name) {
        return ALL.stream().filter(flag -> flag.name.equals(name)).findFirst();
    }

    String word() {
        return "--" + name;
    }

    /// The sentence for whoever gives it.
    ///
    /// @param origin where it was given
    String notice(String origin) {
        List<String> warnings = new Environment(Map.of(variable, "1")).warnings();
        return origin + ": " + String.join(" ", warnings);
    }
}
