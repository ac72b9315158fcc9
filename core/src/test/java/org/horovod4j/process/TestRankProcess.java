package org.horovod4j.process;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import static java.nio.charset.StandardCharsets.UTF_8;

import org.horovod4j.testsupport.Processes;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.io.Writer;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.function.Consumer;
import java.util.function.Predicate;

/// The process of one rank, with its output, and methods to signal it.
final class TestRankProcess {
    private static final int SIGNALLED = 128;

    private final int rank;
    private final Process process;
    private final Writer input;
    private final List<String> lines = new CopyOnWriteArrayList<>();
    private final CompletableFuture<Void> exit;

    TestRankProcess(int rank, ProcessBuilder builder) throws IOException {
        this.rank = rank;
        this.process = builder.redirectErrorStream(true).start();
        this.input = process.outputWriter(UTF_8);
        CompletableFuture<Void> read = new CompletableFuture<>();
        Thread.ofVirtual().name("output of rank " + rank).start(() -> read(read));
        this.exit = CompletableFuture.allOf(process.onExit(), read);
    }

    int rank() {
        return rank;
    }

    /// The JVM. It is a child if a prefix command started it.
    ProcessHandle jvm() {
        return process.descendants().reduce((_, last) -> last).orElse(process.toHandle());
    }

    long pid() {
        return jvm().pid();
    }

    boolean isAlive() {
        return process.isAlive();
    }

    /// Completes when the process has exited and all its output has been read.
    CompletableFuture<Void> exit() {
        return exit;
    }

    int exitCode() {
        return process.exitValue();
    }

    /// Calls `listener` with how the process ended, worded as by the launcher.
    void onExit(Consumer<String> listener) {
        var _ = process.onExit().thenAccept(ended -> listener.accept(ending(ended.exitValue())));
    }

    private static String ending(int code) {
        return code > SIGNALLED ? "killed by signal " + (code - SIGNALLED) : "exit code " + code;
    }

    List<String> lines() {
        return List.copyOf(lines);
    }

    String output() {
        return String.join("\n", lines);
    }

    /// Waits for a line that starts like this, and returns it.
    String awaitLine(String beginning) {
        return awaitLine(beginning, line -> line.startsWith(beginning));
    }

    /// Waits for a line that contains this text, such as a log line, and returns it.
    String awaitWords(String words) {
        return awaitLine(words, line -> line.contains(words));
    }

    private String awaitLine(String what, Predicate<String> wanted) {
        Optional<String> found =
                await("rank " + rank + " prints '" + what + "'")
                        .atMost(TestJob.TIMEOUT)
                        .pollInterval(Duration.ofMillis(20))
                        .until(() -> line(wanted), line -> line.isPresent() || exit.isDone());
        assertThat(found).as(() -> "line '" + what + "' in\n" + output()).isPresent();
        return found.orElseThrow();
    }

    private Optional<String> line(Predicate<String> wanted) {
        return lines.stream().filter(wanted).findFirst();
    }

    /// What the rank reported for `occasion`.
    CallResult callResult(String occasion) {
        List<CallResult> all =
                lines.stream()
                        .flatMap(line -> CallResult.parse(line).stream())
                        .filter(callResult -> callResult.occasion().equals(occasion))
                        .toList();
        assertThat(all).as(() -> "result of '" + occasion + "' in\n" + output()).hasSize(1);
        return all.getFirst();
    }

    /// Sends the signal that the rank waits for in [TestSignal].
    void sendSignal() throws IOException {
        input.write("go\n");
        input.flush();
    }

    /// `kill -9`.
    void kill() {
        jvm().destroyForcibly();
    }

    /// Stops it as a debugger or a paused virtual machine does: its sockets stay open and silent.
    void freeze() throws IOException, InterruptedException {
        signal("STOP");
    }

    void resume() throws IOException, InterruptedException {
        signal("CONT");
    }

    void signal(String name) throws IOException, InterruptedException {
        assertThat(Processes.signal(name, pid())).as("SIG%s reaches rank %d", name, rank).isTrue();
    }

    void destroy() {
        process.descendants().forEach(ProcessHandle::destroyForcibly);
        process.destroyForcibly();
    }

    private void read(CompletableFuture<Void> done) {
        try (BufferedReader reader = process.inputReader(UTF_8)) {
            reader.lines().forEach(lines::add);
            done.complete(null);
        } catch (IOException | UncheckedIOException e) {
            done.completeExceptionally(e);
        }
    }
}
