package org.horovod4j.launcher.mpi;

import java.util.Arrays;
import java.util.List;
import java.util.Optional;

/// The MPIs whose `mpirun` we know, told apart by what it says of its version.
enum MpiKind {
    OPEN_MPI("Open MPI", "Open MPI", "OpenRTE"),
    SPECTRUM_MPI("IBM Spectrum MPI", "IBM Spectrum MPI"),
    INTEL_MPI("Intel MPI", "Intel(R) MPI"),
    MPICH("MPICH", "HYDRA");

    private final String title;
    private final List<String> signs;

    MpiKind(String title, String... signs) {
        this.title = title;
        this.signs = List.of(signs);
    }

    /// The kind that answers `mpirun --version` with this text.
    static Optional<MpiKind> of(String version) {
        return Arrays.stream(values())
                .filter(kind -> kind.signs.stream().anyMatch(version::contains))
                .findFirst();
    }

    @Override
    public String toString() {
        return title;
    }
}
