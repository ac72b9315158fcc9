package org.horovod4j.launcher;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowableOfType;
import static org.awaitility.Awaitility.await;

import org.horovod4j.Communicator;
import org.horovod4j.RankAction;
import org.horovod4j.ReduceOp;
import org.horovod4j.testsupport.Processes;
import org.horovod4j.testsupport.SlowCases;
import org.horovod4j.testsupport.TestJvm;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.io.UncheckedIOException;
import java.time.Duration;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.Queue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;

/// What a program gets when a function that it launched fails. No process of the job is left.
class LauncherFailureIT {
    /// Longer than the whole build may take: a rank that waits so long was not ended.
    private static final Duration MAX_WAIT = Duration.ofMinutes(30);

    private static final Duration TIMEOUT = Duration.ofSeconds(60);

    private final Queue<String> lines = new ConcurrentLinkedQueue<>();

    private static void waitForEver() throws InterruptedException {
        System.out.println("job=" + System.getenv("HOROVOD_JOB_ID"));
        System.out.println("pid=" + ProcessHandle.current().pid());
        new CountDownLatch(1).await(MAX_WAIT.toSeconds(), TimeUnit.SECONDS);
    }

    @Test
    void throwingRankEndsWaitingRanks() {
        LaunchException thrown =
                failureOf(
                        3,
                        comm -> {
                            System.out.println("job=" + System.getenv("HOROVOD_JOB_ID"));
                            comm.barrier();
                            if (comm.rank() == 1) {
                                throw new IllegalStateException(
                                        "no data", new IOException("disk full"));
                            }
                            waitForEver();
                        });
        assertThat(thrown)
                .hasMessage("rank 1 on localhost threw java.lang.IllegalStateException: no data");
        assertThat(thrown.rank()).hasValue(1);
        assertThat(thrown)
                .cause()
                .isExactlyInstanceOf(IllegalStateException.class)
                .hasMessage("no data")
                .hasCauseExactlyInstanceOf(IOException.class);
        assertThat(Objects.requireNonNull(thrown.getCause()).getStackTrace()[0].getClassName())
                .isEqualTo(LauncherFailureIT.class.getName());
        assertThat(lines).noneMatch(line -> line.contains("horovodrun"));
        assertThat(printed(thrown))
                .contains("Caused by: java.lang.IllegalStateException: no data")
                .contains("at org.horovod4j.launcher.LauncherFailureIT.lambda$")
                .contains("Caused by: java.io.IOException: disk full");
        assertNoProcessesLeft();
    }

    @Test
    void messagesOfLauncherAreShownOnRequest() {
        assertThatThrownBy(
                        () ->
                                TestCommands.functionRanks(1)
                                        .verbose()
                                        .output(lines::add)
                                        .execute(
                                                _ -> {
                                                    throw new IOException("disk full");
                                                }))
                .hasRootCauseMessage("disk full");
        assertThat(lines).anyMatch(line -> line.startsWith("horovodrun: each rank runs: "));
    }

    @Test
    void throwingRankIsReportedInsteadOfPeerLoss() {
        LaunchException thrown =
                failureOf(
                        3,
                        comm -> {
                            if (comm.rank() == 2) {
                                throw new UncheckedIOException(new IOException("bad shard"));
                            }
                            comm.allreduce("tensor", new float[1], ReduceOp.SUM);
                        });
        assertThat(thrown.rank()).hasValue(2);
        assertThat(thrown).hasMessageContaining("bad shard");
    }

    @Test
    void killedRankIsReportedWithSignal() throws Exception {
        CompletableFuture<LaunchException> failure =
                CompletableFuture.supplyAsync(
                        () ->
                                failureOf(
                                        3,
                                        comm -> {
                                            System.err.println("about to wait");
                                            waitForEver();
                                        }),
                        task -> Thread.ofPlatform().start(task));
        String pid = awaitLine("[1]<stdout>:pid=");
        awaitLine("[1]<stderr>:about to");
        awaitLine("[0]<stdout>:job=");
        Processes.signal("KILL", Long.parseLong(pid));
        LaunchException thrown = failure.join();
        assertThat(thrown.rank()).hasValue(1);
        assertThat(thrown)
                .hasMessageStartingWith(
                        "rank 1 on localhost ended before its function returned:"
                                + " killed by signal 9 (SIGKILL)")
                .hasMessageContaining("last lines on standard error:\n    about to wait");
        assertNoProcessesLeft();
    }

    /// Its function fails because the process is ending, which is not the cause. The process lives
    /// until the other rank has ended, long enough to report that failure.
    @Test
    void terminatedRankIsReportedWithSignal() throws Exception {
        CompletableFuture<LaunchException> failure =
                CompletableFuture.supplyAsync(
                        () -> failureOf(2, LauncherFailureIT::waitTogether),
                        task -> Thread.ofPlatform().start(task));
        Processes.signal("TERM", Long.parseLong(awaitLine("[1]<stdout>:pid=")));
        assertThat(failure.join())
                .hasMessageStartingWith("rank 1 on localhost ended before its function returned: ");
        assertThat(lines).noneMatch(line -> line.contains("ShutDownException"));
    }

    private static void waitTogether(Communicator comm) {
        long pid = ProcessHandle.current().pid();
        long first = comm.broadcastObject("pid", pid, 0);
        if (comm.rank() == 1) {
            Runtime.getRuntime()
                    .addShutdownHook(
                            new Thread(
                                    () ->
                                            ProcessHandle.of(first)
                                                    .ifPresent(it -> it.onExit().join()),
                                    "slow-to-end"));
        }
        System.out.println("pid=" + pid);
        while (true) {
            comm.barrier();
        }
    }

    @Test
    void rankExitingWithoutResultIsReported() {
        assertThat(failureOf(2, comm -> System.exit(comm.rank() == 0 ? 0 : 5)))
                .hasMessageStartingWith("rank ")
                .hasMessageContaining("ended before its function returned: exit code");
        assertThat(failureOf(1, _ -> System.exit(0)))
                .hasMessage(
                        """
                        rank 0 on localhost ended before its function returned: exit code 0
                        Does the function call System.exit?""");
    }

    @Test
    void unsupportedResultIsReportedByType() {
        assertThatThrownBy(
                        () ->
                                TestCommands.functionRanks(2)
                                        .output(lines::add)
                                        .run(_ -> Thread.currentThread()))
                .isInstanceOf(LaunchException.class)
                .hasMessageContaining("the function's result cannot be sent")
                .hasMessageContaining("java.lang.Thread")
                .hasMessageContaining("Send a record of its values instead");
    }

    @Test
    void interruptingTheCallerEndsTheJob() throws Exception {
        CompletableFuture<Throwable> outcome = new CompletableFuture<>();
        CompletableFuture<Boolean> stillInterrupted = new CompletableFuture<>();
        Thread caller =
                Thread.ofPlatform()
                        .start(
                                () -> {
                                    outcome.complete(failureOf(2, _ -> waitForEver()));
                                    stillInterrupted.complete(
                                            Thread.currentThread().isInterrupted());
                                });
        awaitLine("[0]<stdout>:pid=");
        awaitLine("[1]<stdout>:pid=");
        caller.interrupt();
        caller.join(TIMEOUT);
        assertThat(outcome).isDone();
        assertThat(outcome.join()).hasMessageContaining("was interrupted");
        assertThat(stillInterrupted.join()).isTrue();
        assertNoProcessesLeft();
    }

    /// A program whose main thread waits in a launch.
    static final class WaitingProgram {
        private WaitingProgram() {}

        public static void main(String[] arguments) {
            Launcher.execute(2, _ -> waitForEver());
        }
    }

    @ParameterizedTest
    @ValueSource(strings = "KILL")
    @SlowCases("TERM")
    void jobEndsWithLaunchingProgram(String signal) throws Exception {
        List<String> command =
                List.of(
                        "env",
                        "--default-signal=TERM",
                        TestJvm.JAVA,
                        "-XX:TieredStopAtLevel=1",
                        "-cp",
                        TestJvm.CLASS_PATH,
                        WaitingProgram.class.getName());
        Process program = new ProcessBuilder(command).redirectErrorStream(true).start();
        try (BufferedReader reader = program.inputReader()) {
            String first =
                    reader.lines().filter(line -> line.contains("job=")).findFirst().orElseThrow();
            String job = first.substring(first.indexOf('=') + 1);
            Processes.signal(signal, program.pid());
            await().atMost(TIMEOUT).until(() -> Processes.ofJob(job).isEmpty());
            await().atMost(TIMEOUT).until(() -> Processes.watchdogsOf(job).isEmpty());
        } finally {
            program.destroyForcibly();
        }
    }

    @Test
    void failingOutputConsumerDoesNotFailJob() {
        assertThat(
                        TestCommands.functionRanks(1)
                                .output(
                                        _ -> {
                                            throw new IllegalStateException("no more lines");
                                        })
                                .run(
                                        comm -> {
                                            for (int i = 0; i < 100_000; i++) {
                                                System.out.println("line " + i);
                                            }
                                            return comm.size();
                                        }))
                .containsExactly(1);
    }

    private LaunchException failureOf(int size, RankAction action) {
        return catchThrowableOfType(
                LaunchException.class,
                () -> TestCommands.functionRanks(size).output(lines::add).execute(action));
    }

    /// The rest of the first line that begins with `start`.
    private String awaitLine(String start) {
        return await().atMost(TIMEOUT)
                .until(() -> linesFrom(start).findFirst(), Optional::isPresent)
                .orElseThrow();
    }

    private Stream<String> linesFrom(String start) {
        return lines.stream()
                .filter(line -> line.startsWith(start))
                .map(line -> line.substring(start.length()));
    }

    private void assertNoProcessesLeft() {
        String job = awaitLine("[0]<stdout>:job=");
        assertThat(Processes.ofJob(job)).isEmpty();
        assertThat(Processes.watchdogsOf(job)).isEmpty();
    }

    private static String printed(Throwable thrown) {
        StringWriter text = new StringWriter();
        thrown.printStackTrace(new PrintWriter(text));
        return text.toString();
    }
}
