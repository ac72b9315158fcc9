package org.horovod4j.launcher;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import org.assertj.core.api.InstanceOfAssertFactories;
import org.horovod4j.testsupport.SlowCases;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.snakeyaml.engine.v2.api.Load;
import org.snakeyaml.engine.v2.api.LoadSettings;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;

/// Elastic jobs of real processes on this machine whose workers are lost or end. For changes of
/// hosts see [ElasticDiscoveryIT].
class ElasticLauncherIT {
    @TempDir Path folder;
    private FileSignals signals;

    @BeforeEach
    void createSignals() {
        signals = new FileSignals(folder.resolve("end"));
    }

    @ParameterizedTest
    @ValueSource(ints = 2)
    @SlowCases("0")
    void killedWorkerIsReplaced(int victim) throws Exception {
        try (ElasticRun run = ElasticRun.train(signals, "-np 3 --min-np 2", "hold:3:start:0")) {
            run.awaitStep(5, 3);
            run.signal("KILL", victim);
            run.awaitStep(6, 2);
            signals.release(3);
            run.awaitError("generation 2");
            run.finish(3);
            assertThat(run.launcher().stderr())
                    .contains(
                            "horovodrun: generation 0: 3 workers (localhost:3)\n",
                            "worker %d on localhost (rank %d) failed: killed by signal 9 (SIGKILL)."
                                    .formatted(victim, victim),
                            "horovodrun: generation 1: 2 workers (localhost:2), state from worker %d, after the loss of worker %d"
                                    .formatted(victim == 0 ? 1 : 0, victim),
                            "horovodrun: generation 2: 3 workers (localhost:3), with worker 3, state from");
            Set<Long> pids =
                    run.generationStarts().stream()
                            .map(ElasticRun.GenerationStart::pid)
                            .collect(Collectors.toSet());
            assertThat(pids).as("survivors are not started again").hasSize(4);
        }
    }

    @Test
    void recoversFromTwoFailuresAndOneDuringRecovery() throws Exception {
        // The workers that replace lost ones never join, so that the numbers of workers are known.
        String program = "[ $HOROVOD_ELASTIC_WORKER -lt 4 ] || exec sleep 1000; exec \"$@\"";
        String[] words =
                withScript(
                        ElasticRun.launcherArguments(
                                "-np 4 --min-np 1 --reset-limit 2 sh -c", signals.end() + " 20"),
                        program);
        try (ElasticRun run = ElasticRun.start(Map.of(), signals, words)) {
            run.awaitStep(5, 4);
            run.signal("KILL", 0, 3); // in one command: otherwise there may be two losses
            await().until(() -> run.launcher().stderr().contains("after the loss of"));
            run.signal("KILL", 1);
            run.awaitStep(6, 1);
            run.finish(1);
        }
    }

    @Test
    void eachGenerationHasATimeline() throws Exception {
        Path trace = folder.resolve("trace.json");
        try (ElasticRun run =
                ElasticRun.train(
                        signals,
                        "-np 2 --min-np 1 --autotune --timeline-filename " + trace,
                        "hold:2:start:0")) {
            run.awaitStep(5, 2);
            run.signal("KILL", 1);
            run.awaitStep(6, 1);
            signals.release(2);
            run.awaitError("generation 2");
            run.finish(2);
        }
        Load json = new Load(LoadSettings.builder().build()); // accepts all JSON
        for (String file :
                List.of("trace.json", "trace.generation-1.json", "trace.generation-2.json")) {
            assertThat(json.loadFromString(Files.readString(folder.resolve(file))))
                    .as(file)
                    .asInstanceOf(InstanceOfAssertFactories.LIST)
                    .hasSizeGreaterThan(10);
        }
    }

    @Test
    void throwingWorkerIsReplacedAlone() throws Exception {
        try (ElasticRun run = ElasticRun.train(signals, "-np 2 --min-np 1", "throw:1:5")) {
            run.awaitError("generation 2: 2 workers");
            run.finish(2);
            assertThat(run.launcher().stderr())
                    .contains("IllegalStateException: worker 1 throws in step 5")
                    .contains("horovodrun: worker 1 on localhost (rank 1) failed: exit code 1.");
        }
    }

    @Test
    void jobFailsWhenAllWorkersThrow() throws Exception {
        try (ElasticRun run = ElasticRun.train(signals, "-np 2 --min-np 1", "throw:all:5")) {
            assertThat(run.launcher().exitCode()).isEqualTo(1);
            assertThat(run.launcher().stderr())
                    .contains(
                            "horovodrun: the job failed: all workers are lost, and the state of the training with them. Start it again from a checkpoint. First to fail was worker ",
                            "every worker throws in step 5");
            run.assertNothingLeft();
        }
    }

    @Test
    void exceedingResetLimitEndsJob() throws Exception {
        try (ElasticRun run = ElasticRun.train(signals, "-np 2 --min-np 1 --reset-limit 0")) {
            run.awaitStep(3, 2);
            run.signal("KILL", 1);
            assertThat(run.launcher().exitCode()).isEqualTo(1);
            assertThat(run.launcher().stderr())
                    .contains(
                            "the job failed: its workers have changed 0 times, which is all that --reset-limit allows. Raise it, or leave it out. First to fail was worker 1 on localhost: killed by signal 9 (SIGKILL).");
            run.assertNothingLeft();
        }
    }

    @Test
    void stoppedWorkerIsKilledAndReplaced() throws Exception {
        try (ElasticRun run =
                ElasticRun.train(
                        signals, "-np 2 --min-np 1 --heartbeat-timeout 8", "hold:2:start:0")) {
            run.awaitStep(3, 2);
            run.signal("STOP", 1);
            run.awaitStep(4, 1);
            signals.release(2);
            run.awaitError("generation 2: 2 workers");
            run.finish(2);
            assertThat(run.launcher().stderr())
                    .containsPattern(
                            "worker 1 on localhost \\(rank 1\\) failed: silent for 8 s, so it was killed");
        }
    }

    @Test
    void failingSlotIsBlacklistedForCooldown() throws Exception {
        // All workers except the first of each slot fail, until a file exists.
        Path repaired = folder.resolve("repaired");
        String program =
                "[ $HOROVOD_ELASTIC_WORKER -lt 2 ] || [ -e %s ] || exit 7; exec \"$@\""
                        .formatted(repaired);
        String[] words =
                ElasticRun.launcherArguments(
                        "-np 2 --min-np 1 --blacklist-cooldown-range 1 60 sh -c",
                        signals.end() + " 20");
        words = withScript(words, program);
        try (ElasticRun run = ElasticRun.start(Map.of(), signals, words)) {
            run.awaitStep(3, 2);
            run.signal("KILL", 1);
            run.awaitError(
                    "worker 2 on localhost failed: exit code 7. Twice on this slot: Host localhost is blacklisted: nothing is started there for 1 s.");
            Files.createFile(repaired);
            run.awaitError("(?s)host localhost is tried again.*generation 2: 2 workers");
            run.finish(2);
        }
    }

    /// Inserts a shell script before the command that `sh -c` starts.
    private static String[] withScript(String[] words, String script) {
        List<String> all = new ArrayList<>(List.of(words));
        all.addAll(all.indexOf("-c") + 1, List.of(script, "sh"));
        return all.toArray(String[]::new);
    }

    @Test
    void programThatAlwaysFailsEndsJob() throws Exception {
        try (LauncherProcess launcher =
                LauncherProcess.start(
                        "-np", "2", "--min-np", "1", "sh", "-c", "echo no such file >&2; exit 3")) {
            assertThat(launcher.exitCode()).isEqualTo(1);
            assertThat(launcher.stderr())
                    .contains(
                            "the job failed: no host is left: all are blacklisted before the training has begun. Try the command by itself on one of them. First to fail was worker",
                            "exit code 3.\n  Its last lines on standard error:\n    no such file");
        }
    }

    @Test
    void sigtermEndsAllWorkers() throws Exception {
        try (ElasticRun run = ElasticRun.train(signals, "-np 2 --min-np 1")) {
            run.awaitStep(3, 2);
            run.launcher().signal("TERM");
            assertThat(run.launcher().exitCode()).as(run.tail()).isEqualTo(143);
            run.assertNothingLeft();
        }
    }
}
