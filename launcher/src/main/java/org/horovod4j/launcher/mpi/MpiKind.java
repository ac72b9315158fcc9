package org.horovod4j.launcher.mpi;

import java.util.Arrays;
import java.util.Optional;
import java.util.regex.Pattern;

/// The supported kinds of MPI, recognized by the version of their `mpirun`.
enum MpiKind {
    OPEN_MPI("Open MPI", "Open MPI|OpenRTE"),
    SPECTRUM_MPI("IBM Spectrum MPI", "IBM Spectrum MPI"),
    INTEL_MPI("Intel MPI", "Intel\\(R\\) MPI"),
    MPICH("MPICH", "HYDRA");

    private final String title;
    private final Pattern versionPattern;

    MpiKind(String title, String versionPattern) {
        this.title = title;
        this.versionPattern = Pattern.compile(versionPattern);
    }

    /// The kind whose `mpirun --version` prints this text.
    static Optional<MpiKind> of(String version) {
        return Arrays.stream(values())
                .filter(kind -> kind.versionPattern.matcher(version).find())
                .findFirst();
    }

    @Override
    public String toString() {
        return title;
    }
}
