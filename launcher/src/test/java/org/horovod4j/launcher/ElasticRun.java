package org.horovod4j.launcher;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/// An elastic job of [ElasticTrainer]s that a test watches and disturbs.
final class ElasticRun implements AutoCloseable {
    private static final Duration PATIENCE = Duration.ofSeconds(90);

    /// A worker that has begun a generation.
    record Beginning(int worker, int rank, int size, int step, long pid) {}

    private final LauncherProcess launcher;

    ElasticRun(LauncherProcess launcher) {
        this.launcher = launcher;
    }

    /// Starts such a job on this machine.
    ///
    /// @param flags of horovodrun, as one line
    /// @param program arguments of the trainer, as one line
    static ElasticRun start(Map<String, String> variables, String flags, String program)
            throws IOException {
        return new ElasticRun(LauncherProcess.start(variables, words(flags, program)));
    }

    static String[] words(String flags, String program) {
        List<String> words = new ArrayList<>(List.of(flags.split(" ", -1)));
        words.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
        words.addAll(List.of("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xmx64m"));
        words.addAll(List.of("-cp", System.getProperty("java.class.path")));
        words.add(ElasticTrainer.class.getName());
        words.addAll(List.of(program.strip().split(" ", -1)));
        return words.toArray(String[]::new);
    }

    LauncherProcess launcher() {
        return launcher;
    }

    /// Waits until any rank has completed this step in a world of that size.
    void awaitStep(int step, int size) {
        await().atMost(PATIENCE)
                .failFast(() -> assertThat(launcher.isAlive()).as(tail()).isTrue())
                .until(
                        () ->
                                results("step=(\\d+) size=%d$".formatted(size))
                                        .anyMatch(it -> Integer.parseInt(it.group(1)) >= step));
    }

    void awaitError(String regex) {
        await().atMost(PATIENCE)
                .until(() -> Pattern.compile(regex).matcher(launcher.stderr()).find());
    }

    /// The last beginning of each worker, by its number.
    List<Beginning> beginnings() {
        return results("begin worker=(\\d+) rank=(\\d+) size=(\\d+) step=(\\d+) pid=(\\d+)$")
                .map(
                        it ->
                                new Beginning(
                                        Integer.parseInt(it.group(1)),
                                        Integer.parseInt(it.group(2)),
                                        Integer.parseInt(it.group(3)),
                                        Integer.parseInt(it.group(4)),
                                        Long.parseLong(it.group(5))))
                .toList();
    }

    void signal(String name, int worker) throws IOException, InterruptedException {
        long pid =
                beginnings().stream()
                        .filter(it -> it.worker() == worker)
                        .findFirst()
                        .orElseThrow()
                        .pid();
        Processes.signal(name, pid);
    }

    String jobId() {
        return launcher.awaitOutput("job=(\\S+)", 1).getFirst();
    }

    /// Those of the last generation have all ended after the same step, each step done once.
    void assertSameResults(int size) {
        List<String> results = results("(done .*)$").map(it -> it.group(1)).toList();
        assertThat(results).as(this::tail).hasSize(size);
        int steps = Integer.parseInt(results.getFirst().replaceFirst("done step=(\\d+) .*", "$1"));
        assertThat(results)
                .as(this::tail)
                .containsOnly(
                        "done step=%d size=%d weight=%d same=true"
                                .formatted(steps, size, ElasticTrainer.weightAfter(steps)));
    }

    /// All processes that the workers ever were.
    List<Long> pids() {
        return results("job=\\S+ pid=(\\d+)$").map(it -> Long.parseLong(it.group(1))).toList();
    }

    long generations() {
        return launcher.stderr().lines().filter(it -> it.matches(".* generation \\d+: .*")).count();
    }

    void assertNothingLeft() {
        String job = jobId();
        await().atMost(PATIENCE).until(() -> Processes.ofJob(job).isEmpty());
        await().atMost(PATIENCE).until(() -> Processes.watchdogsOf(job).isEmpty());
    }

    /// What is worth reading of a long job.
    String tail() {
        List<String> lines =
                (launcher.stdout() + launcher.stderr())
                        .lines()
                        .filter(it -> !it.matches(".*>:step=.*"))
                        .toList();
        return String.join("\n", lines.subList(Math.max(0, lines.size() - 120), lines.size()));
    }

    private Stream<MatchResult> results(String regex) {
        return Pattern.compile(regex, Pattern.MULTILINE).matcher(launcher.stdout()).results();
    }

    @Override
    public void close() {
        launcher.close();
    }
}
