package org.horovod4j.launcher.mpi;

import static java.nio.charset.StandardCharsets.UTF_8;

import org.horovod4j.ConfigurationException;
import org.horovod4j.launcher.process.SearchPath;

import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.concurrent.TimeUnit;

/// The `mpirun` of this machine.
///
/// @param path its path
/// @param kind the kind of MPI it belongs to
record MpiInstallation(Path path, MpiKind kind) {
    /// The command, without a folder: Open MPI would put the folder first on the ranks' PATH, where
    /// an old `java` may be found.
    static final String COMMAND = "mpirun";

    /// Far longer than it takes to print a line.
    private static final Duration VERSION_TIMEOUT = Duration.ofSeconds(20);

    /// Finds `mpirun` on the PATH and determines its kind.
    ///
    /// @throws ConfigurationException if there is none, or its kind is not supported
    static MpiInstallation find(SearchPath searchPath) throws IOException, InterruptedException {
        Path path =
                searchPath
                        .lookUp(COMMAND)
                        .orElseThrow(
                                () ->
                                        new ConfigurationException(
                                                "--mpi: there is no mpirun on the PATH. Install Open"
                                                        + " MPI or MPICH, or leave --mpi out:"
                                                        + " horovodrun needs no MPI."));
        String version = version(path);
        return MpiKind.of(version)
                .map(kind -> new MpiInstallation(path, kind))
                .orElseThrow(
                        () ->
                                new ConfigurationException(
                                        """
                                        --mpi: horovodrun does not support the MPI of %s. Its version is:
                                          %s
                                        Put Open MPI, IBM Spectrum MPI, MPICH or Intel MPI first on the PATH, start the program \
                                        with this mpirun yourself (docs/mpirun.md), or leave --mpi out."""
                                                .formatted(
                                                        path,
                                                        version.lines()
                                                                .findFirst()
                                                                .orElse("(nothing)"))));
    }

    /// The output fits into a pipe buffer, so the process can exit before it is read.
    private static String version(Path path) throws IOException, InterruptedException {
        Process process =
                new ProcessBuilder(path.toString(), "--version").redirectErrorStream(true).start();
        process.getOutputStream().close();
        if (!process.waitFor(VERSION_TIMEOUT.toMillis(), TimeUnit.MILLISECONDS)) {
            process.destroyForcibly();
            throw new ConfigurationException(
                    "--mpi: %s --version did not finish within %d s. Check the installation."
                            .formatted(path, VERSION_TIMEOUT.toSeconds()));
        }
        return new String(process.getInputStream().readAllBytes(), UTF_8);
    }
}
