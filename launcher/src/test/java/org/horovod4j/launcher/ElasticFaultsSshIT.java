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

/// Three workers on three hosts. One or two are lost at a chosen point, where the victim waits, so
/// the test does not depend on timing. They are replaced, and the training ends with the same
/// result. The host of a worker depends on which host was ready first.
@Tag("slow")
class ElasticFaultsSshIT {
    @RegisterExtension static final ElasticCluster cluster = new ElasticCluster();

    @BeforeAll
    static void listAllHosts() throws Exception {
        cluster.setHosts("hvdssh1:1", "hvdssh2:1", "hvdssh3:1");
    }

    private static ElasticRun start(String... faults) throws IOException {
        return start(cluster.newSignals(), faults);
    }

    private static ElasticRun start(FileSignals fileSignals, String... faults) throws IOException {
        return cluster.start("-np 3 --min-np 1", fileSignals, faults);
    }

    /// Where the victim is killed, while the others wait for it.
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

    /// The victim waits in the allreduce for a worker that reaches it only after the kill.
    @ParameterizedTest(name = "worker {0}")
    @ValueSource(ints = {0, 1})
    void recoversFromWorkerKilledInAllreduce(int victim) throws Exception {
        FileSignals fileSignals = cluster.newSignals();
        fileSignals.release(victim); // it enters the allreduce
        try (ElasticRun run =
                start(fileSignals, hold(victim, "allreduce", 4), hold(2, "allreduce", 4))) {
            run.awaitHolding("allreduce", 2);
            run.awaitHolding("allreduce", victim);
            run.signal("KILL", victim);
            fileSignals.release(2);
            assertRecovers(run, killed(victim));
        }
    }

    /// The second worker is killed while the survivors of the first loss recover: before it asks
    /// for a place, during the rendezvous, and while the state is sent.
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

    /// Its connections stay open; the heartbeat timeout detects it.
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
