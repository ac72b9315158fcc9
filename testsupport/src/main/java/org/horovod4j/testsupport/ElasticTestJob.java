package org.horovod4j.testsupport;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/// An elastic job whose workers print lines such as `begin generation=0 rank=1 pid=17 content=ab`, and
/// end when a file exists.
public final class ElasticTestJob implements AutoCloseable {
    private static final Duration TIMEOUT = Duration.ofSeconds(90);
    private static final Pattern LINE = Pattern.compile("(\\w+) (generation=\\d+(?: \\w+=\\S+)*)");
    private static final Pattern VALUE = Pattern.compile("(\\w+)=(\\S+)");

    private final Path folder;
    private final Process launcher;

    private ElasticTestJob(Path folder, Process launcher) {
        this.folder = folder;
        this.launcher = launcher;
    }

    /// What a worker has printed.
    ///
    /// @param event the first word
    /// @param values by name
    public record WorkerEvent(String event, Map<String, String> values) {
        private static WorkerEvent of(Matcher line) {
            Map<String, String> values = new HashMap<>();
            VALUE.matcher(line.group(2))
                    .results()
                    .forEach(value -> values.put(value.group(1), value.group(2)));
            return new WorkerEvent(line.group(1), values);
        }

        public String text(String name) {
            return Objects.requireNonNull(values.get(name), name);
        }

        public int number(String name) {
            return Integer.parseInt(text(name));
        }

        public long pid() {
            return Long.parseLong(text("pid"));
        }
    }

    /// The file at whose creation the workers end.
    public static Path endFile(Path folder) {
        return folder.resolve("end");
    }

    /// Starts a job.
    ///
    /// @param folder of its output and of [#endFile]
    /// @param command of the launcher, with that of the workers
    public static ElasticTestJob start(
            Path folder, List<String> command, Map<String, String> environment) throws IOException {
        ProcessBuilder builder =
                new ProcessBuilder(command)
                        .redirectErrorStream(true)
                        .redirectOutput(folder.resolve("output").toFile());
        builder.environment().putAll(environment);
        return new ElasticTestJob(folder, builder.start());
    }

    /// Waits until this number of ranks has printed `begin` for a generation; by rank.
    public List<WorkerEvent> awaitAll(int generation, int size) {
        return awaitAll("begin", generation, size);
    }

    /// The same for another line.
    public List<WorkerEvent> awaitAll(String event, int generation, int size) {
        await().atMost(TIMEOUT)
                .failFast(() -> assertThat(launcher.isAlive()).as(output()).isTrue())
                .until(() -> events(event, generation).size() == size);
        return events(event, generation);
    }

    /// What the workers have printed for a generation; by rank.
    public List<WorkerEvent> events(String event, int generation) {
        return output().lines()
                .map(LINE::matcher)
                .filter(Matcher::find)
                .map(WorkerEvent::of)
                .filter(it -> it.event.equals(event) && it.number("generation") == generation)
                .sorted(Comparator.comparingInt(it -> it.number("rank")))
                .toList();
    }

    /// Kills the process of a worker (SIGKILL).
    public void kill(WorkerEvent worker) {
        assertThat(ProcessHandle.of(worker.pid()).orElseThrow().destroyForcibly()).isTrue();
    }

    /// Lets the workers end, and waits until the job has ended well.
    public void end() throws IOException {
        Files.createFile(endFile(folder));
        await().atMost(TIMEOUT).until(() -> !launcher.isAlive());
        assertThat(launcher.exitValue()).as(output()).isZero();
    }

    public String output() {
        try {
            return Files.readString(folder.resolve("output"));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    @Override
    public void close() {
        launcher.destroy();
        await().atMost(TIMEOUT).until(() -> !launcher.isAlive());
    }
}
