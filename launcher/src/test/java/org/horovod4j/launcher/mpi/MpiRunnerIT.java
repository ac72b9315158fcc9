package org.horovod4j.launcher.mpi;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import static java.nio.charset.StandardCharsets.UTF_8;

import org.horovod4j.ConfigurationException;
import org.horovod4j.Hvd;
import org.horovod4j.ReduceOp;
import org.horovod4j.launcher.output.LauncherConsole;
import org.horovod4j.launcher.plan.Host;
import org.horovod4j.launcher.plan.JobSettings;
import org.horovod4j.launcher.process.Signal;
import org.horovod4j.security.Secret;
import org.horovod4j.testsupport.SystemPackages;
import org.horovod4j.testsupport.TestJvm;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import java.io.ByteArrayOutputStream;
import java.io.FilterOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;

/// Jobs started by a real `mpirun`: of Open MPI and MPICH, if they are or can be installed.
@Tag("slow")
@Timeout(300)
class MpiRunnerIT {
    private static final Duration TIMEOUT = Duration.ofSeconds(60);

    /// The Debian package of each program.
    private static final Map<String, String> PACKAGES =
            Map.of("mpirun.openmpi", "openmpi-bin", "mpirun.mpich", "mpich");

    @TempDir Path folder;
    private final ByteArrayOutputStream out = new ByteArrayOutputStream();
    private final ByteArrayOutputStream err = new ByteArrayOutputStream();
    private final Secret secret = Secret.random();
    private final String jobId = "it-" + UUID.randomUUID();

    /// The program of the ranks.
    static final class Sum {
        public static void main(String[] arguments) {
            Hvd.init();
            float[] sum = {Hvd.rank() + 1};
            Hvd.allreduce("sum", sum, ReduceOp.SUM);
            // One write, because mpirun tags each chunk that it reads.
            System.out.println(
                    "rank %d of %d, local %d of %d: %.0f"
                            .formatted(
                                    Hvd.rank(),
                                    Hvd.size(),
                                    Hvd.localRank(),
                                    Hvd.localSize(),
                                    sum[0]));
            Hvd.shutdown();
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"mpirun.openmpi", "mpirun.mpich"})
    void ranksUseRendezvousOfLauncher(String mpirun) throws Exception {
        int code = launch(mpirun).run(job(3, java(Sum.class)));

        assertThat(code).as(this::output).isZero();
        for (int rank = 0; rank < 3; rank++) {
            assertThat(output()).contains("rank %d of 3, local %d of 3: 6".formatted(rank, rank));
        }
    }

    /// A program in which one rank fails while the other waits for it.
    static final class FailingRank {
        public static void main(String[] arguments) {
            Hvd.init();
            if (Hvd.rank() == 1) {
                System.err.println("disk full");
                Runtime.getRuntime().halt(3);
            }
            Hvd.allreduce("sum", new float[1], ReduceOp.SUM);
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"mpirun.openmpi", "mpirun.mpich"})
    void firstFailedRankIsReportedWithLastErrorLines(String mpirun) throws Exception {
        int code = launch(mpirun).run(job(2, java(FailingRank.class)));

        assertThat(code).isNotZero();
        String host = Files.readString(Path.of("/proc/sys/kernel/hostname")).strip();
        assertThat(output())
                .doesNotContain("started as process")
                .containsPattern("First to fail was rank 1 on " + host + " \\(process \\d+\\): \\S")
                .containsSubsequence(
                        "Its last lines on standard error:",
                        "\n    disk full\n",
                        "The other processes had ended ");
    }

    @Test
    void openMpiReportsExitOfRankWithoutRendezvous() throws Exception {
        String program =
                "[ $OMPI_COMM_WORLD_RANK = 0 ] || { echo no data >&2; exit 7; }; sleep 600";
        assertThat(launch("mpirun.openmpi").run(job(2, List.of("sh", "-c", program)))).isEqualTo(7);
        assertThat(output())
                .containsPattern(
                        "First to fail was rank 1 on \\S+ \\(process \\d+\\): exit code 7\\.\n")
                .containsSubsequence("\n    no data\n", "The other processes had ended ");
    }

    @Test
    void openMpiReportsSignalOfKilledRank() throws Exception {
        String program = "[ $OMPI_COMM_WORLD_RANK = 0 ] || kill -9 $$; exec sleep 600";
        assertThat(launch("mpirun.openmpi").run(job(2, List.of("sh", "-c", program)))).isNotZero();
        assertThat(output())
                .containsPattern(
                        "First to fail was rank 1 .*: killed by signal 9 \\(SIGKILL\\)\\.");
    }

    /// MPICH names a process, but one that it killed itself.
    @Test
    void mpichDoesNotReportFirstFailureWithoutRendezvous() throws Exception {
        String program = "[ $PMI_RANK = 0 ] || kill -9 $$; exec sleep 600";
        assertThat(launch("mpirun.mpich").run(job(2, List.of("sh", "-c", program)))).isNotZero();
        assertThat(output())
                .contains("the job failed, and mpirun ended (", "which rank was the first to fail")
                .doesNotContain("First to fail was");
    }

    @ParameterizedTest
    @ValueSource(strings = {"mpirun.openmpi", "mpirun.mpich"})
    void ranksHaveTheLaunchersPath(String mpirun) throws Exception {
        assertThat(launch(mpirun).run(job(1, List.of("sh", "-c", "echo path: $PATH")))).isZero();
        assertThat(output()).contains("path: " + folder);
    }

    @ParameterizedTest
    @ValueSource(strings = {"mpirun.openmpi", "mpirun.mpich"})
    void exitCodeIsThatOfMpirun(String mpirun) throws Exception {
        assertThat(launch(mpirun).run(job(2, List.of("sh", "-c", "exit 7")))).isEqualTo(7);
    }

    @ParameterizedTest
    @ValueSource(strings = {"mpirun.openmpi", "mpirun.mpich"})
    void secretIsNotOnCommandLine(String mpirun) throws Exception {
        String look = "cat /proc/[0-9]*/cmdline 2>/dev/null | tr '\\0' ' '; echo $HOROVOD_JOB_ID";
        int code = launch(mpirun).run(job(1, List.of("sh", "-c", look)));

        assertThat(code).isZero();
        assertThat(output())
                .contains("HOROVOD_SECRET_KEY") // by name, on mpirun's command line
                .contains(jobId) // the ranks have the variables
                .doesNotContain(secret.encode());
    }

    @ParameterizedTest
    @ValueSource(strings = {"mpirun.openmpi", "mpirun.mpich"})
    void aSignalEndsMpirunAndItsRanks(String mpirun) throws Exception {
        MpiRunner run = launch(mpirun);
        CompletableFuture<Integer> code =
                CompletableFuture.supplyAsync(
                        () -> {
                            try {
                                return run.run(
                                        job(2, List.of("sh", "-c", "echo ready; exec sleep 600")));
                            } catch (IOException | InterruptedException e) {
                                throw new IllegalStateException(e);
                            }
                        });
        await().atMost(TIMEOUT).until(() -> output().split("ready", -1).length == 3);
        run.interrupt(Signal.TERM);

        assertThat(code.get()).isEqualTo(128 + 15);
        assertThat(ProcessHandle.allProcesses())
                .noneMatch(each -> isMarked(each, "HOROVOD_JOB_ID=" + jobId));
    }

    /// The reader takes longer for a line than the idle timeout of a stream.
    @Test
    void allOutputArrivesWithSlowReader() throws Exception {
        assertThat(launch("mpirun.openmpi", new SlowStart(out)).run(job(1, List.of("seq", "99"))))
                .isZero();
        assertThat(output()).contains("99").hasLineCount(99);
    }

    /// The first write takes six seconds.
    private static final class SlowStart extends FilterOutputStream {
        private boolean begun;

        SlowStart(OutputStream out) {
            super(out);
        }

        @Override
        public void write(byte[] bytes, int from, int length) throws IOException {
            if (!begun) {
                begun = true;
                awaitSixSeconds();
            }
            out.write(bytes, from, length);
        }

        private static void awaitSixSeconds() throws IOException {
            try {
                boolean _ = new CountDownLatch(1).await(6, TimeUnit.SECONDS);
            } catch (InterruptedException e) {
                throw new IOException(e);
            }
        }
    }

    @Test
    void programsRunOneAfterTheOtherUntilOneFails() throws Exception {
        MpiJob job =
                new MpiJob(
                        2,
                        Host.list("localhost:2"),
                        List.of(
                                java(Sum.class),
                                List.of("sh", "-c", "echo second; exit 4"),
                                List.of("echo", "third")),
                        List.of(),
                        List.of(),
                        false,
                        List.of(),
                        null,
                        false);
        assertThat(launch("mpirun.openmpi").run(job)).isEqualTo(4);
        assertThat(output()).contains("rank 1 of 2").contains("second").doesNotContain("third");
    }

    @Test
    void unknownMpiIsReportedWithFix() throws Exception {
        script("echo a new MPI, version 1");
        MpiRunner run = run(out);
        assertThatThrownBy(() -> run.run(job(1, List.of("true"))))
                .isInstanceOf(ConfigurationException.class)
                .hasMessageContaining("does not support the MPI of " + folder.resolve("mpirun"))
                .hasMessageContaining("a new MPI, version 1")
                .hasMessageContaining("leave --mpi out");
    }

    /// Makes this the `mpirun` on the PATH: on Debian each MPI has its own command name.
    private MpiRunner launch(String mpirun) throws IOException, InterruptedException {
        return launch(mpirun, out);
    }

    private MpiRunner launch(String mpirun, OutputStream stdout)
            throws IOException, InterruptedException {
        SystemPackages.require(
                List.of(mpirun), List.of(Objects.requireNonNull(PACKAGES.get(mpirun))));
        script("exec " + mpirun + " \"$@\"");
        return run(stdout);
    }

    private void script(String line) throws IOException {
        Path script = Files.writeString(folder.resolve("mpirun"), "#!/bin/sh\n" + line + "\n");
        assertThat(script.toFile().setExecutable(true)).isTrue();
    }

    private MpiRunner run(OutputStream stdout) {
        Map<String, String> environment = new HashMap<>(System.getenv());
        environment.put("PATH", folder + ":" + System.getenv("PATH"));
        return new MpiRunner(
                new LauncherConsole(stdout, err),
                false,
                environment,
                new JobSettings(jobId, secret, TIMEOUT, TIMEOUT, TIMEOUT, List.of()));
    }

    private static MpiJob job(int processes, List<String> program) {
        return new MpiJob(
                processes,
                Host.list("localhost:" + processes),
                List.of(program),
                List.of(),
                List.of(),
                false,
                List.of(),
                null,
                false);
    }

    private static List<String> java(Class<?> program) {
        return TestJvm.of(program).withVectors().shortLived().words();
    }

    private static boolean isMarked(ProcessHandle process, String mark) {
        try {
            return Files.readString(
                            Path.of("/proc", Long.toString(process.pid()), "environ"), UTF_8)
                    .contains(mark);
        } catch (IOException e) {
            return false; // it has ended
        }
    }

    private String output() {
        return out.toString(UTF_8) + err.toString(UTF_8);
    }
}
