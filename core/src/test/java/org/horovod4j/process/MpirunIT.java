package org.horovod4j.process;

import static org.assertj.core.api.Assertions.assertThat;

import static java.nio.charset.StandardCharsets.UTF_8;

import org.horovod4j.testsupport.SystemPackages;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Stream;

/// Ranks that a real `mpirun` starts, without `horovodrun`. Each `mpirun` is called by its name on
/// Debian, where `mpirun` itself may be either.
@Tag("slow")
@Timeout(300)
class MpirunIT {
    @TempDir Path folder;

    @Test
    void openMpiStartsAWorld() throws Exception {
        SystemPackages.require(List.of("mpirun.openmpi"), List.of("openmpi-bin"));
        meets("mpirun.openmpi", "--allow-run-as-root", "--oversubscribe", "-np", "3");
    }

    @Test
    void mpichStartsAWorld() throws Exception {
        SystemPackages.require(List.of("mpirun.mpich"), List.of("mpich"));
        meets("mpirun.mpich", "-n", "3");
    }

    /// A script between the proxy and the JVM, as users often have it.
    @Test
    void wrapperScriptIsSupported() throws Exception {
        SystemPackages.require(List.of("mpirun.mpich"), List.of("mpich"));
        meets("mpirun.mpich", "-n", "3", "sh", "-c", "\"$@\"; exit $?", "script");
    }

    private void meets(String... prefix) throws IOException {
        List<String> command = TestRankCommand.of(List.of(prefix), SumProgram.class, List.of());
        ProcessBuilder builder = new ProcessBuilder(command);
        builder.environment().keySet().removeIf(name -> name.startsWith("HOROVOD_"));
        builder.environment().put("HOROVOD_RENDEZVOUS_FOLDER", meetings().toString());
        builder.environment().put("HOROVOD_START_TIMEOUT", "120"); // on a busy machine
        builder.redirectErrorStream(true);
        Process process = builder.start();
        String output = new String(process.getInputStream().readAllBytes(), UTF_8);
        assertThat(process.onExit().join().exitValue()).as(output).isZero();
        for (int rank = 0; rank < 3; rank++) {
            assertThat(output)
                    .contains(
                            "world 1: rank %d of 3, local %d of 3, cross 0 of 1: 6"
                                    .formatted(rank, rank));
        }
        try (Stream<Path> left = Files.list(meetings())) {
            assertThat(left).as("files by which ranks have met").isEmpty();
        }
    }

    private Path meetings() {
        return folder.resolve("meetings");
    }
}
