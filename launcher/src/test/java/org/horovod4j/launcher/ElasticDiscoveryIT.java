package org.horovod4j.launcher;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.tuple;
import static org.awaitility.Awaitility.await;

import org.horovod4j.testsupport.Processes;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;

/// Elastic jobs of real processes on this machine, whose hosts a script finds. Several names of
/// this machine stand for different hosts.
class ElasticDiscoveryIT {
    @TempDir Path folder;
    private FileSignals signals;

    @BeforeEach
    void createSignals() {
        signals = new FileSignals(folder.resolve("end"));
    }

    @Test
    void hostsAreAddedAndRemoved() throws Exception {
        setHosts("localhost:2");
        try (ElasticRun run = trainWithScript("-np 2 --min-np 2")) {
            run.awaitStep(5, 2);
            setHosts("localhost:2", "127.0.0.1:2");
            run.awaitStep(6, 4);
            setHosts("127.0.0.1:2");
            int later = run.generationStarts().getLast().step() + 1;
            run.awaitStep(later, 2);
            run.awaitError("generation \\d+: 2 workers \\(127\\.0\\.0\\.1:2\\)\n");
            run.finish(2);
            assertThat(run.launcher().stderr())
                    .contains(
                            "horovodrun: hosts: 127.0.0.1:2 is new\n",
                            "horovodrun: hosts: localhost is gone\n")
                    // A worker that starts much later than the other joins alone.
                    .containsPattern(
                            "generation [12]: 4 workers \\(localhost:2, 127\\.0\\.0\\.1:2\\),"
                                    + " with (workers 2, 3|worker [23]), state from worker 0");
            assertThat(run.generationStarts())
                    .filteredOn(it -> it.worker() >= 2 && it.size() == 4)
                    .extracting(ElasticRun.GenerationStart::rank)
                    .containsExactlyInAnyOrder(2, 3);
            assertThat(run.generationStarts())
                    .filteredOn(it -> it.worker() >= 2 && it.size() == 2)
                    .extracting(
                            ElasticRun.GenerationStart::worker, ElasticRun.GenerationStart::rank)
                    .containsExactlyInAnyOrder(tuple(2, 0), tuple(3, 1));
        }
    }

    @Test
    void scriptMayOmitSlots() throws Exception {
        setHosts("localhost", "127.0.0.1");
        try (ElasticRun run = trainWithScript("-np 2 --max-np 3 --slots-per-host 2 --verbose")) {
            run.awaitStep(5, 3);
            run.finish(3);
            assertThat(run.launcher().stderr())
                    .containsPattern("generation \\d+: 3 workers")
                    .doesNotContainPattern("generation \\d+: 4 workers")
                    .contains("rank  worker    local    cross   process  host");
        }
    }

    @Test
    void tooFewSlotsFailAfterElasticTimeout() throws Exception {
        setHosts("localhost:1");
        try (ElasticRun run = trainWithScript("-np 2 --elastic-timeout 20")) {
            assertThat(run.launcher().exitCode()).isEqualTo(1);
            assertThat(run.launcher().stderr())
                    .contains(
                            "the job failed: after 20 s it has 1 worker ready, and it needs 2. Hosts: localhost:1. Find more of them, or raise --elastic-timeout.");
            run.assertNothingLeft();
        }
    }

    @Test
    void scriptThatFailsAtStartupStartsNothing() throws Exception {
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
    void failingScriptKeepsCurrentHosts() throws Exception {
        setHosts("localhost:2");
        try (ElasticRun run = trainWithScript("-np 2 --min-np 1")) {
            run.awaitStep(3, 2);
            setHosts("<html>503</html>");
            run.awaitError(
                    "host discovery failed, the hosts stay as they are: line 1 is '<html>503</html>', which is not a host");
            Files.delete(folder.resolve("hosts"));
            run.signal("KILL", 1);
            run.awaitError("generation 2: 2 workers");
            run.finish(2);
        }
    }

    @Test
    void signalInterruptsFirstDiscovery() throws Exception {
        Path asked = folder.resolve("asked");
        try (LauncherProcess launcher =
                LauncherProcess.start(
                        "-np",
                        "2",
                        "--host-discovery-script",
                        "touch %s; sleep 1011".formatted(asked),
                        "echo",
                        "started")) {
            await().atMost(ElasticRun.TIMEOUT).until(() -> Files.exists(asked));
            launcher.signal("INT");
            assertThat(launcher.exitCode()).as(launcher.stderr()).isEqualTo(130);
            assertThat(launcher.stdout()).isEmpty();
            await().atMost(ElasticRun.TIMEOUT)
                    .until(() -> Processes.withCommandLine("sleep\0001011\0").isEmpty());
        }
    }

    @Test
    void killedLauncherLeavesNoProcesses() throws Exception {
        setHosts("localhost:2");
        try (ElasticRun run =
                ElasticRun.train(
                        signals,
                        "-np 2 --host-discovery-script "
                                + script("cat %s; [ -e %s ] && sleep 1012"))) {
            run.awaitStep(3, 2);
            Files.createFile(folder.resolve("hang"));
            await().atMost(ElasticRun.TIMEOUT)
                    .until(() -> !Processes.withCommandLine("sleep\0001012\0").isEmpty());
            run.launcher().signal("KILL");
            run.assertNothingLeft();
        }
    }

    private ElasticRun trainWithScript(String flags) throws IOException {
        return ElasticRun.train(signals, flags + " --host-discovery-script " + script("cat %s"));
    }

    /// A script with two placeholders: the file with the hosts, and another file.
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

    /// Makes the script find these hosts. The change is atomic.
    private void setHosts(String... hosts) throws IOException {
        Path next = Files.writeString(folder.resolve("next"), String.join("\n", hosts) + "\n");
        Files.move(next, folder.resolve("hosts"), StandardCopyOption.ATOMIC_MOVE);
    }
}
