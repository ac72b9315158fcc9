package org.horovod4j.launcher;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import org.assertj.core.api.InstanceOfAssertFactories;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.snakeyaml.engine.v2.api.Load;
import org.snakeyaml.engine.v2.api.LoadSettings;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;

/// Elastic jobs of real processes on this machine, some of whose names play other hosts.
class ElasticIT {
    @TempDir Path folder;
    private Path end;

    @BeforeEach
    void nameTheEnd() {
        end = folder.resolve("end");
    }

    @ParameterizedTest
    @ValueSource(ints = {0, 2})
    void aWorkerIsKilledAndAnotherTakesItsPlace(int victim) throws Exception {
        try (ElasticRun run = start("-np 3 --min-np 2")) {
            run.awaitStep(5, 3);
            run.signal("KILL", victim);
            run.awaitStep(6, 2);
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
                    run.beginnings().stream()
                            .map(ElasticRun.Beginning::pid)
                            .collect(Collectors.toSet());
            assertThat(pids).as("survivors are not started again").hasSize(4);
        }
    }

    @Test
    void twoFailuresAtOnceAndOneDuringRecoveryAreSurvived() throws Exception {
        try (ElasticRun run = start("-np 4 --min-np 1 --reset-limit 2")) {
            run.awaitStep(5, 4);
            run.signal("KILL", 0, 3); // by one command, or it may be two losses and three resets
            await().until(() -> run.launcher().stderr().contains("after the loss of"));
            run.signal("KILL", 1);
            run.awaitStep(6, 1);
            run.finish(1);
        }
    }

    @Test
    void hostsComeAndGo() throws Exception {
        list("localhost:2");
        try (ElasticRun run = found("-np 2 --min-np 2")) {
            run.awaitStep(5, 2);
            list("localhost:2", "127.0.0.1:2");
            run.awaitStep(6, 4);
            list("127.0.0.1:2");
            int later = run.beginnings().getLast().step() + 1;
            run.awaitStep(later, 2);
            await().until(() -> run.launcher().stderr().contains("generation 2: 2 workers"));
            run.finish(2);
            assertThat(run.launcher().stderr())
                    .contains(
                            "horovodrun: hosts: 127.0.0.1:2 is new\n",
                            "generation 1: 4 workers (localhost:2, 127.0.0.1:2), with workers 2, 3, state from worker 0",
                            "horovodrun: hosts: localhost is gone\n",
                            "generation 2: 2 workers (127.0.0.1:2)\n");
            assertThat(run.beginnings())
                    .filteredOn(it -> it.worker() == 2)
                    .extracting(ElasticRun.Beginning::rank)
                    .containsExactly(2, 0);
        }
    }

    @Test
    void aScriptMayNameHostsAlone() throws Exception {
        list("localhost", "127.0.0.1");
        try (ElasticRun run = found("-np 2 --max-np 3 --slots-per-host 2 --verbose")) {
            run.awaitStep(5, 3);
            run.finish(3);
            assertThat(run.launcher().stderr())
                    .containsPattern("generation \\d+: 3 workers")
                    .doesNotContainPattern("generation \\d+: 4 workers")
                    .contains("rank  worker    local    cross   process  host");
        }
    }

    @Test
    void eachGenerationHasATimeline() throws Exception {
        Path trace = folder.resolve("trace.json");
        try (ElasticRun run = start("-np 2 --min-np 1 --autotune --timeline-filename " + trace)) {
            run.awaitStep(5, 2);
            run.signal("KILL", 1);
            run.awaitStep(6, 1);
            run.awaitError("generation 2");
            run.finish(2);
        }
        Load json =
                new Load(
                        LoadSettings.builder().build()); // which reads more than that, but not less
        for (String file :
                List.of("trace.json", "trace.generation-1.json", "trace.generation-2.json")) {
            assertThat(json.loadFromString(Files.readString(folder.resolve(file))))
                    .as(file)
                    .asInstanceOf(InstanceOfAssertFactories.LIST)
                    .hasSizeGreaterThan(10);
        }
    }

    @Test
    void aScriptThatFailsAndPrintsNonsenseIsSurvived() throws Exception {
        list("localhost:2");
        try (ElasticRun run = found("-np 2 --min-np 1")) {
            run.awaitStep(3, 2);
            list("<html>503</html>");
            run.awaitError(
                    "host discovery failed, the hosts stay as they are: line 1 is '<html>503</html>', which is no host");
            Files.delete(folder.resolve("hosts"));
            run.signal("KILL", 1);
            run.awaitError("generation 2: 2 workers");
            run.finish(2);
        }
    }

    @Test
    void theExceptionOfOneWorkerIsNotThatOfTheOthers() throws Exception {
        try (ElasticRun run = start("-np 2 --min-np 1", "throw:1:5")) {
            run.awaitError("generation 2: 2 workers");
            run.finish(2);
            assertThat(run.launcher().stderr())
                    .contains("IllegalStateException: worker 1 throws in step 5")
                    .contains("horovodrun: worker 1 on localhost (rank 1) failed: exit code 1.");
        }
    }

    @Test
    void whenAllThrowTheJobFails() throws Exception {
        try (ElasticRun run = start("-np 2 --min-np 1", "throw:all:5")) {
            assertThat(run.launcher().exitCode()).isEqualTo(1);
            assertThat(run.launcher().stderr())
                    .contains(
                            "horovodrun: the job failed: all workers are lost, and the state of the training with them. Start it again from a checkpoint. First to fail was worker ",
                            "every worker throws in step 5");
            run.assertNothingLeft();
        }
    }

    @Test
    void aResetTooManyEndsTheJob() throws Exception {
        try (ElasticRun run = start("-np 2 --min-np 1 --reset-limit 0")) {
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
    void aWorkerThatStopsIsKilledAndReplaced() throws Exception {
        try (ElasticRun run = start("-np 2 --min-np 1 --heartbeat-timeout 2")) {
            run.awaitStep(3, 2);
            run.signal("STOP", 1);
            run.awaitStep(4, 1);
            run.awaitError("generation 2: 2 workers");
            run.finish(2);
            assertThat(run.launcher().stderr())
                    .containsPattern(
                            "worker 1 on localhost \\(rank 1\\) failed: silent for 2 s, so it was killed");
        }
    }

    @Test
    void aSlotThatKeepsFailingIsLeftAloneForAWhile() throws Exception {
        // All workers but the first one of each slot fail, until a file is there.
        Path cured = folder.resolve("cured");
        String program =
                "[ $HOROVOD_ELASTIC_WORKER -lt 2 ] || [ -e %s ] || exit 7; exec \"$@\""
                        .formatted(cured);
        String[] words =
                ElasticRun.words(
                        "-np 2 --min-np 1 --blacklist-cooldown-range 1 2 sh -c", end + " 20");
        words = withScript(words, program);
        try (ElasticRun run = ElasticRun.start(Map.of(), new Cues(end), words)) {
            run.awaitStep(3, 2);
            run.signal("KILL", 1);
            run.awaitError(
                    "worker 2 on localhost failed: exit code 7. Twice on this slot: Host localhost is blacklisted: nothing is started there for 1 s.");
            Files.createFile(cured);
            run.awaitError("(?s)host localhost is tried again.*generation 2: 2 workers");
            run.finish(2);
        }
    }

    /// Puts a shell script between `sh -c` and the command that it starts.
    private static String[] withScript(String[] words, String script) {
        List<String> all = new ArrayList<>(List.of(words));
        all.addAll(all.indexOf("-c") + 1, List.of(script, "sh"));
        return all.toArray(String[]::new);
    }

    @Test
    void tooFewSlotsAreWaitedForInVain() throws Exception {
        list("localhost:1");
        try (ElasticRun run = found("-np 2 --elastic-timeout 4")) {
            assertThat(run.launcher().exitCode()).isEqualTo(1);
            assertThat(run.launcher().stderr())
                    .contains(
                            "the job failed: after 4 s 1 workers are ready, and it needs 2. Hosts: localhost:1. Find more of them, or raise --elastic-timeout.");
            run.assertNothingLeft();
        }
    }

    @Test
    void aScriptThatFailsAtOnceStartsNothing() throws Exception {
        try (LauncherProcess launcher =
                LauncherProcess.start(
                        "-np", "2", "--host-discovery-script", "./none.sh", "echo", "started")) {
            assertThat(launcher.exitCode()).isEqualTo(2);
            assertThat(launcher.stdout()).isEmpty();
            assertThat(launcher.stderr())
                    .contains("--host-discovery-script: './none.sh' found no hosts: exit code 127")
                    .contains("It must print lines such as gpu1:4.");
        }
    }

    @Test
    void aProgramThatCannotRunIsGivenUpSoon() throws Exception {
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
    void aSignalDoesNotWaitForTheFirstAnswerOfTheScript() throws Exception {
        Path asked = folder.resolve("asked");
        try (LauncherProcess launcher =
                LauncherProcess.start(
                        "-np",
                        "2",
                        "--host-discovery-script",
                        "touch %s; sleep 1001".formatted(asked),
                        "echo",
                        "started")) {
            await().until(() -> Files.exists(asked));
            launcher.signal("INT");
            assertThat(launcher.exitCode()).as(launcher.stderr()).isEqualTo(130);
            assertThat(launcher.stdout()).isEmpty();
            await().until(() -> Processes.withCommandLine("sleep\0001001\0").isEmpty());
        }
    }

    @Test
    void aTermSignalEndsAllWorkers() throws Exception {
        try (ElasticRun run = start("-np 2 --min-np 1")) {
            run.awaitStep(3, 2);
            run.launcher().signal("TERM");
            assertThat(run.launcher().exitCode()).as(run.tail()).isEqualTo(143);
            run.assertNothingLeft();
        }
    }

    @Test
    void nothingOutlivesALauncherThatIsKilled() throws Exception {
        list("localhost:2");
        try (ElasticRun run =
                start(
                        "-np 2 --host-discovery-script "
                                + script("cat %s; [ -e %s ] && sleep 1000"))) {
            run.awaitStep(3, 2);
            Files.createFile(folder.resolve("hang"));
            await().until(() -> !Processes.withCommandLine("sleep\0001000\0").isEmpty());
            run.launcher().signal("KILL");
            run.assertNothingLeft();
        }
    }

    /// A job that trains until [ElasticRun#finish], in steps of 20 ms.
    private ElasticRun start(String flags, String... misdeeds) throws IOException {
        return ElasticRun.start(
                Map.of(),
                new Cues(end),
                ElasticRun.words(flags, end + " 20 " + String.join(" ", misdeeds)));
    }

    private ElasticRun found(String flags) throws IOException {
        return start(flags + " --host-discovery-script " + script("cat %s"));
    }

    /// A script, with the file of the hosts and one more in its place holders.
    private Path script(String text) throws IOException {
        Path script = folder.resolve("script.sh");
        Files.writeString(
                script,
                "#!/bin/sh\n"
                        + text.formatted(folder.resolve("hosts"), folder.resolve("hang"))
                        + "\ntrue\n");
        assertThat(script.toFile().setExecutable(true)).isTrue();
        return script;
    }

    /// Lets the script find these, from one moment to the next.
    private void list(String... hosts) throws IOException {
        Path next = Files.writeString(folder.resolve("next"), String.join("\n", hosts) + "\n");
        Files.move(next, folder.resolve("hosts"), StandardCopyOption.ATOMIC_MOVE);
    }
}
