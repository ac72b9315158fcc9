package org.horovod4j.launcher.mpi;

import static java.nio.charset.StandardCharsets.UTF_8;

import org.horovod4j.ConfigurationException;
import org.horovod4j.launcher.process.SearchPath;

import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Arrays;
import java.util.Optional;
import java.util.regex.Pattern;

/// The supported kinds of MPI, recognized by the version of their `mpirun`.
enum MpiKind {
    OPEN_MPI("Open MPI", "Open MPI|OpenRTE"),
    SPECTRUM_MPI("IBM Spectrum MPI", "IBM Spectrum MPI"),
    INTEL_MPI("Intel MPI", "Intel\\(R\\) MPI"),
    MPICH("MPICH", "HYDRA");

    /// The command, without a folder: Open MPI would put the folder first on the ranks' PATH, where
    /// an old `java` may be found.
    static final String COMMAND = "mpirun";

    /// Far longer than it takes to print a line.
    private static final Duration VERSION_TIMEOUT = Duration.ofSeconds(20);

    private final String title;
    private final Pattern versionPattern;

    MpiKind(String title, String versionPattern) {
        this.title = title;
        this.versionPattern = Pattern.compile(versionPattern);
    }

    /// The kind of the `mpirun` on the PATH.
    ///
    /// @throws ConfigurationException if there is none, or its kind is not supported
    static MpiKind find(SearchPath searchPath) throws IOException, InterruptedException {
        Path path = searchPath.lookUp(COMMAND).orElse(null);
        if (path == null) {
            throw new ConfigurationException(
                    "--mpi: there is no mpirun on the PATH. Install Open MPI or MPICH, or leave --mpi"
                            + " out: horovodrun needs no MPI.");
        }
        String version = version(path);
        return of(version).orElseThrow(() -> unsupported(path, version));
    }

    private static ConfigurationException unsupported(Path path, String version) {
        return new ConfigurationException(
                """
                --mpi: horovodrun does not support the MPI of %s. Its version is:
                  %s
                Put Open MPI, IBM Spectrum MPI, MPICH or Intel MPI first on the PATH, start the program \
                with this mpirun yourself (docs/mpirun.md), or leave --mpi out."""
                        .formatted(path, version.lines().findFirst().orElse("(nothing)")));
    }

    /// The output fits into a pipe buffer, so the process can exit before it is read.
    private static String version(Path path) throws IOException, InterruptedException {
        Process process =
                new ProcessBuilder(path.toString(), "--version").redirectErrorStream(true).start();
        process.getOutputStream().close();
        if (!process.waitFor(VERSION_TIMEOUT)) {
            process.destroyForcibly();
            throw new ConfigurationException(
                    "--mpi: %s --version did not finish within %d s. Check the installation."
                            .formatted(path, VERSION_TIMEOUT.toSeconds()));
        }
        return new String(process.getInputStream().readAllBytes(), UTF_8);
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
