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
/// @param path where it is
/// @param kind whose it is
record MpiInstallation(Path path, MpiKind kind) {
    /// What it is called by, with no folder in front: Open MPI would put that folder first on the
    /// ranks' path, and theirs might begin with an old `java`.
    static final String COMMAND = "mpirun";

    /// Far longer than it takes to print a line, and soon enough to tell that it hangs.
    private static final Duration VERSION_TIMEOUT = Duration.ofSeconds(20);

    /// Finds the one on the path, and asks it who it is.
    ///
    /// @throws ConfigurationException when there is none, or none that we know
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
                                        --mpi: %s is of an MPI that horovodrun does not know. Asked for its version, it says:
                                          %s
                                        Put Open MPI, IBM Spectrum MPI, MPICH or Intel MPI first on the PATH, start the program \
                                        with this mpirun yourself (docs/mpirun.md), or leave --mpi out."""
                                                .formatted(
                                                        path,
                                                        version.lines()
                                                                .findFirst()
                                                                .orElse("(nothing)"))));
    }

    /// Its words are few, so they fit into the pipe and it can end before they are read.
    private static String version(Path path) throws IOException, InterruptedException {
        Process asked =
                new ProcessBuilder(path.toString(), "--version").redirectErrorStream(true).start();
        asked.getOutputStream().close();
        if (!asked.waitFor(VERSION_TIMEOUT.toMillis(), TimeUnit.MILLISECONDS)) {
            asked.destroyForcibly();
            throw new ConfigurationException(
                    "--mpi: %s --version does not answer within %d s. Check the installation."
                            .formatted(path, VERSION_TIMEOUT.toSeconds()));
        }
        return new String(asked.getInputStream().readAllBytes(), UTF_8);
    }
}
