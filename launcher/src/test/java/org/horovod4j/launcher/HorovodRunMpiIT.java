package org.horovod4j.launcher;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import org.horovod4j.testsupport.Processes;
import org.horovod4j.testsupport.SystemPackages;
import org.horovod4j.testsupport.TestJvm;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;

/// The command `horovodrun --mpi`, with the `mpirun` of Open MPI and of MPICH.
@Tag("slow")
class HorovodRunMpiIT {
    @TempDir Path folder;

    @ParameterizedTest
    @CsvSource({"Open MPI, mpirun.openmpi, openmpi-bin", "MPICH, mpirun.mpich, mpich"})
    void mpirunStartsTheRanks(String kind, String program, String debianPackage) throws Exception {
        Map<String, String> variables = withMpirun(program, debianPackage);
        try (LauncherProcess launcher = startSums(List.of(), variables)) {
            assertThat(launcher.exitCode()).as(launcher::stderr).isZero();
            assertThat(launcher.awaitOutput("sum=(1)", 2)).hasSize(2);
            assertThat(launcher.stderr()).contains("horovodrun: " + kind + ": mpirun ");
        }
    }

    /// As in a container whose host name cannot be resolved.
    @ParameterizedTest
    @CsvSource({"mpirun.openmpi, openmpi-bin", "mpirun.mpich, mpich"})
    void ranksNeedNoResolvableHostName(String program, String debianPackage) throws Exception {
        assumeTrue(Processes.run("unshare", "--uts", "true") == 0, "needs root");
        List<String> nameless =
                List.of("unshare", "--uts", "sh", "-c", "hostname nosuchname; exec \"$@\"", "sh");
        Map<String, String> variables = withMpirun(program, debianPackage);
        try (LauncherProcess launcher = startSums(nameless, variables)) {
            assertThat(launcher.exitCode()).as(launcher::stderr).isZero();
            assertThat(launcher.awaitOutput("sum=(1)", 2)).hasSize(2);
        }
    }

    @ParameterizedTest
    @CsvSource({
        "mpirun.openmpi, openmpi-bin, INT, 130",
        "mpirun.openmpi, openmpi-bin, TERM, 143",
        "mpirun.mpich, mpich, INT, 130",
        "mpirun.mpich, mpich, TERM, 143"
    })
    void endOfTrainingByUserPrintsOneLine(
            String program, String debianPackage, String signal, int exitCode) throws Exception {
        try (LauncherProcess launcher =
                LauncherProcess.start(
                        withMpirun(program, debianPackage),
                        "-np",
                        "2",
                        "--mpi",
                        "java",
                        "-cp",
                        TestJvm.CLASS_PATH,
                        EndlessTraining.class.getName())) {
            launcher.awaitOutput("training (\\d)", 2);
            String before = launcher.stdout();
            launcher.signal(signal);
            assertThat(launcher.exitCode()).isEqualTo(exitCode);
            assertThat(launcher.stderr().lines())
                    .filteredOn(line -> !line.contains("Using incubator modules"))
                    .filteredOn(line -> !line.contains("waiting for mpirun to end"))
                    .singleElement()
                    .asString()
                    .matches("horovodrun: ended by SIG" + signal + " after [0-9.]+ s");
            assertThat(launcher.stdout()).isEqualTo(before);
        }
    }

    private Map<String, String> withMpirun(String program, String debianPackage)
            throws IOException, InterruptedException {
        SystemPackages.require(List.of(program), List.of(debianPackage));
        // On Debian each has its own name, and mpirun may be either.
        Path mpirun = folder.resolve("mpirun");
        Files.writeString(mpirun, "#!/bin/sh\nexec " + program + " \"$@\"\n");
        assertThat(mpirun.toFile().setExecutable(true)).isTrue();
        return Map.of("PATH", folder + ":" + System.getenv("PATH"));
    }

    private static LauncherProcess startSums(List<String> around, Map<String, String> variables)
            throws IOException {
        return LauncherProcess.startWithin(
                around,
                variables,
                "-np",
                "2",
                "--mpi",
                "--verbose",
                "java",
                "-cp",
                TestJvm.CLASS_PATH,
                SumOfRanks.class.getName());
    }
}
