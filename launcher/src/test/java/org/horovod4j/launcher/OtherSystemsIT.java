package org.horovod4j.launcher;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import org.horovod4j.Hvd;
import org.horovod4j.ReduceOp;
import org.horovod4j.testing.World;
import org.horovod4j.testing.World.Transport;
import org.horovod4j.testsupport.Processes;
import org.horovod4j.testsupport.TestJvm;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/// Jobs on a system without what only Linux has: `/proc` and `/dev/shm`, which a namespace hides, and
/// `setsid`, which is not on the path.
class OtherSystemsIT {
    private static final Duration TIMEOUT = Duration.ofSeconds(30);

    private static final Map<String, String> LIBRARIES =
            // The dynamic linker of Linux needs /proc to find the libraries of a JDK.
            Map.of("LD_LIBRARY_PATH", Path.of(System.getProperty("java.home"), "lib").toString());

    @TempDir private Path path;

    /// The only command on the path, which [LauncherProcess] needs.
    @BeforeEach
    void linkEnv() throws Exception {
        Files.createSymbolicLink(path.resolve("env"), Path.of("/usr/bin/env"));
    }

    private List<String> withoutSetsid() {
        return List.of("/bin/sh", "-c", "export PATH=" + path + "; exec \"$@\"", "sh");
    }

    /// Skips the test without the right to mount.
    private List<String> withoutLinuxFolders() throws Exception {
        List<String> words =
                new ArrayList<>(
                        List.of(
                                "unshare",
                                "--mount",
                                "sh",
                                "-c",
                                "mount -t tmpfs -o ro none /dev/shm"
                                        + " && mount -t tmpfs -o ro none /proc && exec \"$@\"",
                                "sh"));
        List<String> probe = new ArrayList<>(words);
        probe.add("true");
        assumeTrue(
                Processes.run(probe.toArray(String[]::new)) == 0,
                "needs the right to mount file systems (root)");
        words.addAll(withoutSetsid());
        return words;
    }

    private static String[] horovodrun(String transport, Class<?> program) {
        List<String> words = new ArrayList<>(List.of("-np", "2", "--transport", transport));
        words.addAll(List.of("--class-archives", "none"));
        words.addAll(TestJvm.of(program).shortLived().words());
        return words.toArray(String[]::new);
    }

    @Test
    void tcpJobNeedsNoLinuxParts() throws Exception {
        try (LauncherProcess launcher =
                LauncherProcess.startWithin(
                        withoutLinuxFolders(), LIBRARIES, horovodrun("tcp", SumOfRanks.class))) {
            assertThat(launcher.exitCode()).as(launcher.stderr()).isZero();
            assertThat(launcher.stdout())
                    .contains("[0]<stdout>:sum=1")
                    .contains("[1]<stdout>:sum=1");
            assertThat(launcher.stderr())
                    .contains("no setsid on the PATH")
                    .doesNotContain("shared memory")
                    .doesNotContain("/proc");
        }
    }

    @Test
    @Tag("slow")
    void sharedMemoryMovesToTheTemporaryFolder() throws Exception {
        try (LauncherProcess launcher =
                LauncherProcess.startWithin(
                        withoutLinuxFolders(), LIBRARIES, horovodrun("auto", SumOfRanks.class))) {
            assertThat(launcher.exitCode()).as(launcher.stderr()).isZero();
            assertThat(launcher.stdout())
                    .contains("[0]<stdout>:sum=1")
                    .contains("[1]<stdout>:sum=1");
            assertThat(launcher.stderr()).contains("Cannot create shared memory in /dev/shm");
        }
    }

    @Test
    void worldAndSingleProcessNeedNoLinuxParts() throws Exception {
        List<String> command = TestJvm.of(WithoutLauncher.class).words(withoutLinuxFolders());
        ProcessBuilder builder = new ProcessBuilder(command).inheritIO();
        builder.environment().putAll(LIBRARIES);
        assertThat(builder.start().waitFor()).isZero();
    }

    static final class WithoutLauncher {
        private WithoutLauncher() {}

        public static void main(String[] arguments) {
            for (Transport transport : List.of(Transport.LOCAL, Transport.TCP)) {
                World.of(2)
                        .via(transport)
                        .run(
                                comm -> {
                                    int[] sum = {comm.rank() + 1};
                                    comm.allreduce("sum", sum, ReduceOp.SUM);
                                    assertThat(sum).containsExactly(3);
                                });
            }
            Hvd.init();
            Hvd.barrier();
            Hvd.shutdown();
        }
    }

    @Test
    void failureOfARankEndsTheOthersWithoutSetsid() throws Exception {
        String program = "[ $HOROVOD_RANK = 1 ] && exit 3; exec /bin/sleep 1000";
        try (LauncherProcess launcher =
                LauncherProcess.startWithin(
                        withoutSetsid(), Map.of(), "-np", "2", "/bin/sh", "-c", program)) {
            assertThat(launcher.exitCode()).isOne();
            assertThat(launcher.stderr()).contains("rank 1").contains("exit code 3");
        }
    }

    @Test
    void ranksDoNotSurviveKilledLauncherWithoutSetsid() throws Exception {
        String program = "echo job=$HOROVOD_JOB_ID; /bin/sleep 1000";
        try (LauncherProcess launcher =
                LauncherProcess.startWithin(
                        withoutSetsid(), Map.of(), "-np", "2", "/bin/sh", "-c", program)) {
            launcher.awaitOutput("job=(\\S+)", 2);
            String job = launcher.awaitJobId();
            launcher.signal("KILL");
            await().atMost(TIMEOUT).until(() -> Processes.ofJob(job).isEmpty());
        }
    }
}
