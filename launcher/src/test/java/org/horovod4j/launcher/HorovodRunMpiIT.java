package org.horovod4j.launcher;

import static org.assertj.core.api.Assertions.assertThat;

import org.horovod4j.testing.Packages;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;

/// The command `horovodrun --mpi`, with a real `mpirun`: Open MPI's and MPICH's.
@Tag("slow")
class HorovodRunMpiIT {
    @TempDir Path folder;

    @ParameterizedTest
    @CsvSource({"Open MPI, mpirun.openmpi, openmpi-bin", "MPICH, mpirun.mpich, mpich"})
    void mpirunStartsTheRanks(String kind, String program, String debianPackage) throws Exception {
        Packages.require(List.of(program), List.of(debianPackage));
        // On Debian each has a name of its own, and mpirun itself may be either.
        Path mpirun = folder.resolve("mpirun");
        Files.writeString(mpirun, "#!/bin/sh\nexec " + program + " \"$@\"\n");
        assertThat(mpirun.toFile().setExecutable(true)).isTrue();
        try (LauncherProcess launcher =
                LauncherProcess.start(
                        Map.of("PATH", folder + ":" + System.getenv("PATH")),
                        "-np",
                        "2",
                        "--mpi",
                        "--verbose",
                        "java",
                        "-cp",
                        System.getProperty("java.class.path"),
                        SumOfRanks.class.getName())) {
            assertThat(launcher.exitCode()).as(launcher::stderr).isZero();
            assertThat(launcher.awaitOutput("sum=(1)", 2)).hasSize(2);
            assertThat(launcher.stderr()).contains("horovodrun: " + kind + ": mpirun ");
        }
    }
}
