package org.horovod4j.examples;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import org.horovod4j.launcher.HorovodRun;
import org.horovod4j.testsupport.TestJvm;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.regex.Pattern;

/// An example started with `horovodrun`, as a user starts it.
final class ExampleJob implements AutoCloseable {
    private static final Duration TIMEOUT = Duration.ofMinutes(3); // on a machine that is busy
    private static final Pattern ACCURACY = Pattern.compile("test accuracy ([0-9.]+) %");

    /// In percent. Guessing is right once in ten times. Weights start at random, so each run ends with
    /// another accuracy.
    private static final double LEARNED = 60;

    private final Process process;
    private final List<String> lines = new CopyOnWriteArrayList<>();
    private final Thread reader;

    private ExampleJob(Process process) {
        this.process = process;
        this.reader = Thread.ofVirtual().start(this::read);
    }

    static ExampleJob start(int processes, Class<?> example, String... arguments)
            throws IOException {
        return start(List.of("-np", String.valueOf(processes)), example, arguments);
    }

    /// @param flags of `horovodrun`
    static ExampleJob start(List<String> flags, Class<?> example, String... arguments)
            throws IOException {
        return start(flags, TestJvm.of(example, arguments));
    }

    static ExampleJob start(List<String> flags, TestJvm program) throws IOException {
        List<String> command = new ArrayList<>(TestJvm.of(HorovodRun.class).shortLived().words());
        command.addAll(flags);
        command.addAll(program.with("-XX:TieredStopAtLevel=1").words());
        ProcessBuilder builder = new ProcessBuilder(command).redirectErrorStream(true);
        builder.environment().put("OMP_NUM_THREADS", "1");
        builder.environment().put("DJL_OFFLINE", "true");
        return new ExampleJob(builder.start());
    }

    /// Waits for a line that contains this text.
    void awaitLine(String part) {
        await().atMost(TIMEOUT)
                .failFast(
                        () -> {
                            if (!process.isAlive() && !reader.isAlive()) {
                                throw new AssertionError("it ended first\n" + output());
                            }
                        })
                .until(() -> output().contains(part));
    }

    /// Kills one of the ranks with SIGKILL, like a failing machine.
    void killRank() {
        ProcessHandle rank =
                process.children() // a shell is among them, which guards the job
                        .filter(it -> it.info().command().orElse("").endsWith("java"))
                        .findFirst()
                        .orElseThrow();
        assertThat(rank.destroyForcibly()).isTrue(); // SIGKILL
    }

    /// Waits for the end and returns the exit code.
    int exitCode() throws InterruptedException {
        await().atMost(TIMEOUT).until(() -> !process.isAlive());
        reader.join();
        return process.exitValue();
    }

    /// Waits for the end, and checks that the network has learned digits.
    void awaitLearned() throws InterruptedException {
        assertThat(exitCode()).as(output()).isZero();
        assertThat(accuracy()).as(output()).isGreaterThan(LEARNED);
    }

    /// The last accuracy that the example has printed, in percent.
    double accuracy() {
        List<String> all = ACCURACY.matcher(output()).results().map(it -> it.group(1)).toList();
        assertThat(all).as(output()).isNotEmpty();
        return Double.parseDouble(all.getLast());
    }

    /// The output of all ranks so far.
    String output() {
        return String.join("\n", lines);
    }

    private void read() {
        try (BufferedReader output = process.inputReader(StandardCharsets.UTF_8)) {
            output.lines().forEach(lines::add);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /// Kills `horovodrun` if it still runs, and waits until its ranks have ended.
    @Override
    public void close() {
        List<ProcessHandle> ranks = process.descendants().toList();
        process.destroyForcibly();
        await().atMost(TIMEOUT).until(() -> ranks.stream().noneMatch(ProcessHandle::isAlive));
    }
}
