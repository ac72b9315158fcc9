package org.horovod4j.launcher;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;
import static org.awaitility.Awaitility.await;

import org.horovod4j.testsupport.Processes;
import org.horovod4j.testsupport.SharedMemoryFiles;
import org.horovod4j.testsupport.TestJvm;

import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.function.Supplier;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/// An elastic job of [ElasticTrainer]s, for tests that inject faults.
final class ElasticRun implements AutoCloseable {
    static final Duration TIMEOUT = Duration.ofSeconds(90);

    /// A worker that has begun a generation.
    record GenerationStart(int worker, String host, int rank, int size, int step, long pid) {}

    /// Far above rounding differences of a loss, far below the effect of one step.
    private static final double TOLERANCE = 1e-7;

    private static final Pattern RESULT =
            Pattern.compile(
                    "done Result\\[step=(\\d+), epochs=(\\d+), size=(\\d+), loss=(\\S+),"
                            + " parameters=(-?\\d+), fewest=(\\d+), most=(\\d+)]$",
                    Pattern.MULTILINE);

    private final LauncherProcess launcher;
    private final FileSignals signals;
    private final Supplier<? extends Set<?>> sharedFiles;

    /// @param sharedFiles returns the shared memory files that the job left behind, on any host
    ElasticRun(
            LauncherProcess launcher,
            FileSignals fileSignals,
            Supplier<? extends Set<?>> sharedFiles) {
        this.launcher = launcher;
        this.signals = fileSignals;
        this.sharedFiles = sharedFiles;
    }

    /// Starts a job on this machine.
    static ElasticRun start(Map<String, String> variables, FileSignals fileSignals, String... words)
            throws IOException {
        SharedMemoryFiles before = SharedMemoryFiles.snapshot();
        return new ElasticRun(LauncherProcess.start(variables, words), fileSignals, before::added);
    }

    /// Starts a job that trains until [#finish], in steps of 20 ms.
    ///
    /// @param flags of horovodrun, as one line
    /// @param faults of the workers, see [ElasticTrainer]
    static ElasticRun train(FileSignals fileSignals, String flags, String... faults)
            throws IOException {
        String program = "%s 20 %s".formatted(fileSignals.end(), String.join(" ", faults));
        TestJvm worker = TestCommands.rank(ElasticTrainer.class, split(program));
        return start(Map.of(), fileSignals, launcherArguments(flags, worker));
    }

    /// The arguments of a launcher.
    ///
    /// @param flags of horovodrun, as one line
    /// @param program arguments of the trainer, as one line
    static String[] launcherArguments(String flags, String program) {
        return launcherArguments(
                flags, TestJvm.of(ElasticTrainer.class, split(program)).shortLived());
    }

    private static String[] launcherArguments(String flags, TestJvm worker) {
        List<String> words = new ArrayList<>(List.of(split(flags)));
        words.addAll(worker.with("-Xmx64m").words());
        return words.toArray(String[]::new);
    }

    private static String[] split(String line) {
        return line.strip().split(" ", -1);
    }

    LauncherProcess launcher() {
        return launcher;
    }

    /// Waits until a rank has completed this step in a job of that size.
    void awaitStep(int step, int size) {
        await().atMost(TIMEOUT)
                .failFast(() -> assertThat(launcher.isAlive()).as(tail()).isTrue())
                .until(
                        () ->
                                results("step=(\\d+) size=%d$".formatted(size))
                                        .anyMatch(it -> Integer.parseInt(it.group(1)) >= step));
    }

    void awaitError(String regex) {
        Pattern pattern = Pattern.compile(regex);
        await().atMost(TIMEOUT)
                .untilAsserted(
                        () ->
                                assertThat(pattern.matcher(launcher.stderr()).find())
                                        .as(() -> regex + "\n" + tail())
                                        .isTrue());
    }

    /// The generations that workers have begun, in the order of their output.
    List<GenerationStart> generationStarts() {
        return results(
                        "begin worker=(\\d+) host=(\\S+) rank=(\\d+) size=(\\d+) step=(\\d+) pid=(\\d+)$")
                .map(
                        it ->
                                new GenerationStart(
                                        Integer.parseInt(it.group(1)),
                                        it.group(2),
                                        Integer.parseInt(it.group(3)),
                                        Integer.parseInt(it.group(4)),
                                        Integer.parseInt(it.group(5)),
                                        Long.parseLong(it.group(6))))
                .toList();
    }

    /// Waits until this worker holds in this phase.
    void awaitHolding(String phase, int worker) {
        await().atMost(TIMEOUT)
                .untilAsserted(
                        () ->
                                assertThat(signals.isHolding(phase, worker))
                                        .as(() -> "%s %d\n%s".formatted(phase, worker, tail()))
                                        .isTrue());
    }

    /// The processes of the live workers, by number.
    Map<Integer, Long> workers() {
        return Processes.workersOf(jobId());
    }

    /// Signals those of these workers that live, nearly at the same time.
    void signal(String name, Integer... numbers) throws IOException, InterruptedException {
        Map<Integer, Long> workers = workers();
        List<Long> pids = Stream.of(numbers).map(workers::get).filter(Objects::nonNull).toList();
        Processes.signal(name, pids);
    }

    FileSignals signals() {
        return signals;
    }

    String jobId() {
        return launcher.awaitOutput("job=(\\S+)", 1).getFirst();
    }

    /// Ends the training, and asserts that it lost nothing and left nothing behind.
    ///
    /// @param size the number of workers in the end
    ElasticTrainer.Result finish(int size) throws InterruptedException {
        signals.endTraining();
        assertThat(launcher.exitCode(TIMEOUT)).as(this::tail).isZero();
        ElasticTrainer.Result result = assertSameResults(size);
        assertNothingLeft();
        return result;
    }

    /// Asserts that all workers of the last generation have the same parameters, the number of
    /// steps of their epochs, each sample once per epoch, and the loss of a training without
    /// faults.
    private ElasticTrainer.Result assertSameResults(int size) {
        List<ElasticTrainer.Result> results = workerResults();
        assertThat(results).as(this::tail).hasSize(size);
        ElasticTrainer.Result result = results.getFirst();
        assertThat(results).as(this::tail).containsOnly(result);
        int epochs = result.epochs();
        assertThat(result.size()).as(this::tail).isEqualTo(size);
        assertThat(result.step()).as(this::tail).isEqualTo(epochs * ElasticTrainer.STEPS_PER_EPOCH);
        assertThat(List.of(result.fewest(), result.most())).as(this::tail).containsOnly(epochs);
        assertThat(result.loss())
                .as(this::tail)
                .isCloseTo(ElasticTrainer.trainWithoutFaults(epochs).loss(), within(TOLERANCE));
        return result;
    }

    private List<ElasticTrainer.Result> workerResults() {
        return RESULT.matcher(launcher.stdout())
                .results()
                .map(
                        it ->
                                new ElasticTrainer.Result(
                                        Integer.parseInt(it.group(1)),
                                        Integer.parseInt(it.group(2)),
                                        Integer.parseInt(it.group(3)),
                                        Double.parseDouble(it.group(4)),
                                        Integer.parseInt(it.group(5)),
                                        Integer.parseInt(it.group(6)),
                                        Integer.parseInt(it.group(7))))
                .toList();
    }

    /// The processes of all workers so far.
    List<Long> pids() {
        return results("job=\\S+ pid=(\\d+)$").map(it -> Long.parseLong(it.group(1))).toList();
    }

    long generations() {
        return launcher.stderr().lines().filter(it -> it.matches(".* generation \\d+: .*")).count();
    }

    /// Asserts that no process and no shared memory file of the job is left on any host.
    void assertNothingLeft() {
        String job = jobId();
        await().atMost(TIMEOUT).until(() -> Processes.ofJob(job).isEmpty());
        await().atMost(TIMEOUT).until(() -> Processes.watchdogsOf(job).isEmpty());
        await().atMost(TIMEOUT)
                .untilAsserted(() -> assertThat(sharedFiles.get()).as("shared files").isEmpty());
    }

    /// The relevant output of a long job.
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
