package org.horovod4j.launcher;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

import java.io.IOException;

/// Three workers on three hosts, of which one or two are lost at a chosen moment: the victim holds there,
/// so no luck is needed to hit it. Others take their places, and the training ends as if nothing had
/// happened. Which host a worker is on depends on which one was ready first.
@Tag("slow")
class ElasticFaultsSshIT {
    @RegisterExtension static final ElasticCluster cluster = new ElasticCluster();

    @BeforeAll
    static void listAllHosts() throws Exception {
        cluster.setHosts("hvdssh1:1", "hvdssh2:1", "hvdssh3:1");
    }

    private static ElasticRun start(String... misdeeds) throws IOException {
        return start(cluster.newSignals(), misdeeds);
    }

    private static ElasticRun start(FileSignals fileSignals, String... misdeeds)
            throws IOException {
        return cluster.start("-np 3 --min-np 1", fileSignals, misdeeds);
    }

    /// Where the victim stands when it dies; the others wait for it there.
    @ParameterizedTest(name = "worker {0} in {1} {2}")
    @CsvSource({
        "0, start, 0",
        "2, start, 0",
        "0, meeting, 0",
        "1, meeting, 0",
        "0, sync, 0",
        "2, sync, 0",
        "0, allreduce, 4",
        "1, allreduce, 4",
        "0, commit, 4",
        "2, commit, 4",
    })
    void recoversFromKilledWorker(int victim, String phase, int number) throws Exception {
        try (ElasticRun run = start(hold(victim, phase, number))) {
            run.awaitHolding(phase, victim);
            run.signal("KILL", victim);
            assertRecovers(run, killed(victim));
        }
    }

    /// Here the victim itself waits in the allreduce, for a worker that comes to it only after the kill.
    @ParameterizedTest(name = "worker {0}")
    @ValueSource(ints = {0, 1})
    void recoversFromWorkerKilledInAllreduce(int victim) throws Exception {
        FileSignals fileSignals = cluster.newSignals();
        fileSignals.release(victim); // it tells of the allreduce, and goes on into it
        try (ElasticRun run =
                start(fileSignals, hold(victim, "allreduce", 4), hold(2, "allreduce", 4))) {
            run.awaitHolding("allreduce", 2);
            run.awaitHolding("allreduce", victim);
            run.signal("KILL", victim);
            fileSignals.release(2);
            assertRecovers(run, killed(victim));
        }
    }

    /// The second dies while the survivors of the first loss recover: before it has asked for its next
    /// place, when it has one and they meet, and when they send the state.
    @ParameterizedTest(name = "worker {0} in {1} {2}")
    @CsvSource({
        "0, restore, 0",
        "1, restore, 0",
        "0, meeting, 1",
        "1, meeting, 1",
        "0, sync, 1",
        "1, sync, 1",
    })
    void recoversFromWorkerKilledDuringRecovery(int victim, String phase, int number)
            throws Exception {
        try (ElasticRun run = start(hold(2, "allreduce", 4), hold(victim, phase, number))) {
            run.awaitHolding("allreduce", 2);
            run.signal("KILL", 2);
            run.awaitHolding(phase, victim);
            run.signal("KILL", victim);
            assertRecovers(run, killed(victim));
        }
    }

    @Test
    void recoversFromTwoKilledWorkers() throws Exception {
        try (ElasticRun run = start(hold(0, "allreduce", 4), hold(2, "allreduce", 4))) {
            run.awaitHolding("allreduce", 0);
            run.awaitHolding("allreduce", 2);
            run.signal("KILL", 0, 2);
            assertRecovers(run, killed(0));
        }
    }

    /// Its connections stay open, and its silence gives it away.
    @ParameterizedTest(name = "worker {0} in {1} {2}")
    @CsvSource({"0, allreduce, 4", "1, commit, 4", "1, sync, 0"})
    void recoversFromStoppedWorker(int victim, String phase, int number) throws Exception {
        try (ElasticRun run = start(hold(victim, phase, number))) {
            run.awaitHolding(phase, victim);
            run.signal("STOP", victim);
            assertRecovers(run, failed(victim, "silent for 8 s, so it was killed"));
        }
    }

    @ParameterizedTest(name = "worker {0}")
    @ValueSource(ints = {0, 1})
    void recoversFromThrowingWorker(int victim) throws Exception {
        try (ElasticRun run = start("throw:%d:4".formatted(victim))) {
            assertRecovers(run, failed(victim, "exit code 1"));
            assertThat(run.launcher().stderr())
                    .contains(
                            "IllegalStateException: worker %d throws in step 4".formatted(victim));
        }
    }

    private static void assertRecovers(ElasticRun run, String loss) throws InterruptedException {
        run.awaitError("(?s)%s.*generation \\d+: 3 workers".formatted(loss));
        run.finish(3);
    }

    private static String killed(int worker) {
        return failed(worker, "killed by signal 9 \\(SIGKILL\\)");
    }

    private static String failed(int worker, String how) {
        return "worker %d on hvdssh\\d( \\(rank \\d\\))? failed: %s".formatted(worker, how);
    }

    private static String hold(int worker, String phase, int number) {
        return "hold:%d:%s:%d".formatted(worker, phase, number);
    }
}
