package org.horovod4j.launcher;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;

/// Elastic jobs over three hosts through real ssh: hosts come, go, lose power and lose their link.
/// For faults of single workers see [ElasticFaultsSshIT].
@Tag("slow")
class ElasticSshIT {
    @RegisterExtension static final ElasticCluster cluster = new ElasticCluster();

    @BeforeEach
    void writeDiscoveryScript() throws IOException {
        cluster.script("cat " + cluster.folder().resolve("found"));
    }

    private ElasticRun start(String... found) throws IOException {
        cluster.setHosts(found);
        return cluster.start("-np 2 --min-np 1", cluster.newSignals());
    }

    @Test
    void hostsAreAddedAndRemoved() throws Exception {
        try (ElasticRun run = start("hvdssh1:1", "hvdssh2:1")) {
            run.awaitStep(5, 2);
            cluster.setHosts("hvdssh1:1", "hvdssh2:1", "hvdssh3:1");
            run.awaitStep(6, 3);
            cluster.setHosts("hvdssh2:1", "hvdssh3:1");
            run.awaitError("generation 2: 2 workers \\(hvdssh2:1, hvdssh3:1\\)");
            run.finish(2);
        }
    }

    @Test
    void poweredOffHostIsRemovedAndRejoins() throws Exception {
        try (ElasticRun run = start("hvdssh1:2", "hvdssh2:1", "hvdssh3:1")) {
            run.awaitStep(5, 4);
            cluster.hosts().powerOff(1);
            run.awaitError("lost contact with host hvdssh1 \\(workers \\d+, \\d+\\)");
            run.awaitStep(6, 2);
            cluster.hosts().powerOn(1);
            run.awaitError("(?s)lost contact with host hvdssh1.*generation \\d+: 4 workers");
            run.finish(4);
        }
    }

    @Test
    void cutLinkLosesOnlyItsHost() throws Exception {
        try (ElasticRun run = start("hvdssh1:2", "hvdssh2:1")) {
            run.awaitStep(5, 3);
            cluster.hosts().cutLink(2);
            run.awaitError("lost contact with host hvdssh2");
            run.awaitStep(6, 2);
            cluster.hosts().restoreLink(2);
            run.awaitError("(?s)lost contact with host hvdssh2.*generation \\d+: 3 workers");
            run.finish(3);
        }
    }

    /// Fixed hosts, without a script.
    private static ElasticRun startFixed() throws IOException {
        return cluster.startFixed("-np 3 --min-np 1 -H hvdssh1:2,hvdssh2:1", cluster.newSignals());
    }

    /// Ranks are assigned to hosts in the order in which they became ready.
    @Test
    void killedWorkerOnFixedHostsIsReplaced() throws Exception {
        try (ElasticRun run = startFixed()) {
            run.awaitStep(5, 3);
            run.signal("KILL", 2);
            run.awaitError(
                    "(?s)worker 2 on hvdssh[12] \\(rank 2\\) failed: killed by signal 9"
                            + ".*generation \\d+: 3 workers"
                            + " \\((hvdssh1:2, hvdssh2:1|hvdssh2:1, hvdssh1:2)\\)");
            run.finish(3);
        }
    }

    @Test
    void fixedHostRejoinsAfterLinkIsRestored() throws Exception {
        try (ElasticRun run = startFixed()) {
            run.awaitStep(5, 3);
            cluster.hosts().cutLink(2);
            run.awaitStep(6, 2);
            cluster.hosts().restoreLink(2);
            run.awaitError(
                    "(?s)lost contact with host hvdssh2"
                            + ".*generation \\d+: 3 workers \\(hvdssh1:2, hvdssh2:1\\)");
            run.finish(3);
        }
    }

    /// Two of three hosts, including the host of rank 0.
    @Test
    void recoversFromLossOfTwoHosts() throws Exception {
        try (ElasticRun run = start("hvdssh1:1", "hvdssh2:1", "hvdssh3:1")) {
            run.awaitStep(5, 3);
            int zero = hostOfRankZero(run);
            int other = zero % 3 + 1;
            cluster.hosts().cutLink(zero);
            cluster.hosts().cutLink(other);
            run.awaitStep(6, 1);
            cluster.hosts().restoreLink(zero);
            cluster.hosts().restoreLink(other);
            run.awaitError("(?s)lost contact with host.*generation \\d+: 3 workers");
            run.finish(3);
            assertThat(hostOfRankZero(run)).isNotIn(zero, other);
        }
    }

    /// The number of the host where rank 0 ran last.
    private static int hostOfRankZero(ElasticRun run) {
        return run.generationStarts().stream()
                .filter(generationStart -> generationStart.rank() == 0)
                .map(
                        generationStart ->
                                Integer.parseInt(
                                        generationStart.host().substring("hvdssh".length())))
                .reduce((_, last) -> last)
                .orElseThrow();
    }

    @Test
    void unreadyHostDoesNotDelayOthers() throws Exception {
        try (ElasticRun run = start("hvdssh1:1", "hvdssh-closed:1", "hvdssh2:1")) {
            run.awaitError("host hvdssh-closed is not ready: it refuses connections to port 23");
            run.awaitStep(5, 2);
            run.finish(2);
        }
    }

    /// The script prints something else each second: all hosts, two, others, none, garbage; and it
    /// fails.
    @Test
    void flappingScriptOnlyAddsGenerations() throws Exception {
        try (ElasticRun run = start("hvdssh1:1", "hvdssh2:1", "hvdssh3:1")) {
            run.awaitStep(5, 3);
            Path asked = Files.writeString(cluster.folder().resolve("asked"), "");
            cluster.script(
                    """
                    echo >>%s
                    case $(($(wc -l <%1$s) %% 6)) in
                    0) printf 'hvdssh1:1\\nhvdssh2:1\\nhvdssh3:1\\n' ;;
                    1) printf 'hvdssh1:1\\nhvdssh3:1\\n' ;;
                    2) printf 'hvdssh2:1\\nhvdssh3:1\\n' ;;
                    3) echo 'the service is not available' ;;
                    4) exit 3 ;;
                    5) true ;;
                    esac"""
                            .formatted(asked));
            await().atMost(Duration.ofSeconds(90))
                    .failFast(() -> assertThat(run.launcher().isAlive()).as(run.tail()).isTrue())
                    .until(() -> Files.size(asked) >= 24);
            cluster.setHosts("hvdssh1:1", "hvdssh2:1", "hvdssh3:1");
            cluster.script("cat " + cluster.folder().resolve("found"));
            int flapped = run.generationStarts().getLast().step();
            run.awaitStep(flapped + 100, 3);
            assertThat(run.launcher().stderr())
                    .contains("hosts: hvdssh2 is gone\n")
                    .contains("which is not a host")
                    .contains("no host is listed any more; the job continues with those it has");
            run.finish(3);
        }
    }

    @Test
    void killedLauncherLeavesNoProcessesOnAnyHost() throws Exception {
        try (ElasticRun run = start("hvdssh1:1", "hvdssh2:1")) {
            run.awaitStep(5, 2);
            run.launcher().signal("KILL");
            run.assertNothingLeft();
        }
    }

    @ParameterizedTest(name = "SIG{0}")
    @CsvSource({"TERM, 143", "INT, 130"})
    void signalledLauncherEndsAllWorkersOnAllHosts(String signal, int exitCode) throws Exception {
        try (ElasticRun run = start("hvdssh1:2", "hvdssh2:1")) {
            run.awaitStep(5, 3);
            run.launcher().signal(signal);
            assertThat(run.launcher().exitCode()).as(run::tail).isEqualTo(exitCode);
            run.assertNothingLeft();
        }
    }
}
