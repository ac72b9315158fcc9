package org.horovod4j.launcher.driver;

import static org.assertj.core.api.Assertions.assertThat;

import org.horovod4j.launcher.plan.Host;
import org.junit.jupiter.api.Test;

import java.time.Duration;

/// How generations change when workers fail, stop answering and start.
class DriverWorkersTest extends DriverScenario {
    @Test
    void firstGenerationWaitsForAllWorkersAndSyncsFromOldest() {
        discoverHosts(new Host("a", 2), new Host("b", 2));
        workerReady(0, -1, 2, 1);
        assertThat(generations()).isEmpty();
        workerReady(3, -1);
        assertThat(lastGeneration()).isEqualTo("0: [0, 1, 2, 3] sync");
    }

    @Test
    void survivorsContinueAtOnceAndNewWorkerJoinsWhenReady() {
        startFourWorkers();
        workerFails(2);
        assertThat(infoMessages())
                .last()
                .asString()
                .contains("worker 2 on a (rank 2) failed: killed. Its slot gets another try.");
        assertThat(startedWorkers()).as("not before the others have recovered").hasSize(4);
        workerReady(0, 0, "lost", 1);
        assertThat(generations()).hasSize(1);
        workerReady(3, 0, "lost");
        assertThat(lastGeneration()).isEqualTo("1: [0, 1, 3] sync");
        advanceTime(Duration.ofSeconds(1));
        assertThat(startedWorkers()).hasSize(5).last().isEqualTo(new Worker(4, "a", 2));
        assertThat(resetRequests()).isZero();
        workerReady(4, -1);
        assertThat(resetRequests()).isEqualTo(1);
        advanceTime(Duration.ofSeconds(1));
        assertThat(resetRequests()).isEqualTo(1);
        workerReady(0, 1, "", 1, 3);
        assertThat(lastGeneration()).isEqualTo("2: [0, 1, 3, 4] sync");
    }

    @Test
    void oldestSurvivorBecomesRankZero() {
        startFourWorkers();
        workerFails(0);
        workerReady(3, 0, "lost", 2, 1);
        assertThat(lastGeneration()).isEqualTo("1: [1, 2, 3] sync");
    }

    @Test
    void simultaneousFailuresCauseOneReset() {
        startFourWorkers();
        workerFails(0);
        workerFails(3);
        workerReady(1, 0, "lost", 2);
        assertThat(lastGeneration()).isEqualTo("1: [1, 2] sync");
    }

    @Test
    void failureDuringRecoveryIsHandled() {
        startFourWorkers();
        workerFails(0);
        workerReady(1, 0, "lost");
        workerFails(1);
        workerReady(2, 0, "lost", 3);
        assertThat(lastGeneration()).isEqualTo("1: [2, 3] sync");
    }

    @Test
    void tooFewSurvivorsWaitForNewWorkers() {
        elasticDriver = driver(4, 4, 4, ElasticLimits.UNLIMITED);
        startFourWorkers();
        workerFails(1);
        workerReady(0, 0, "lost", 2, 3);
        assertThat(generations()).hasSize(1);
        advanceTime(Duration.ofSeconds(1));
        workerReady(4, -1);
        assertThat(lastGeneration()).isEqualTo("1: [0, 2, 3, 4] sync");
    }

    @Test
    void slowStartingWorkerDelaysResetOnlyBriefly() {
        elasticDriver = driver(2, 2, 4, ElasticLimits.UNLIMITED);
        discoverHosts(new Host("a", 2));
        workerReady(0, -1, 1);
        discoverHosts(new Host("a", 4));
        workerReady(2, -1);
        advanceTime(GenerationManager.MAX_JOIN_WAIT);
        assertThat(resetRequests()).isEqualTo(1);
    }

    @Test
    void workerAboveMaximumIsDismissedAtOnce() {
        elasticDriver = driver(2, 2, 2, ElasticLimits.UNLIMITED);
        discoverHosts(new Host("a", 2));
        workerReady(0, -1, 1);
        discoverHosts(new Host("a", 1), new Host("b", 1));
        discoverHosts(new Host("a", 2), new Host("b", 1));
        workerReady(2, -1);
        assertThat(dismissedWorkers()).containsExactly(2);
        assertThat(resetRequests()).isZero();
    }

    @Test
    void unresponsiveWorkerIsKilled() {
        startFourWorkers();
        handle(new DriverEvent.WorkerUnresponsive(1, "silent for 10 s"));
        assertThat(killedWorkers()).isEmpty();
        advanceTime(LivenessMonitor.GRACE_PERIOD);
        assertThat(killedWorkers()).containsExactly(1);
        workerFails(1);
        assertThat(infoMessages())
                .last()
                .asString()
                .contains("worker 1 on a (rank 1) failed: silent for 10 s, so it was killed");
    }

    @Test
    void workerThatDoesNotReturnIsKilledAfterTimeout() {
        startFourWorkers();
        workerFails(3);
        workerReady(0, 0, "lost", 1);
        advanceTime(TIMEOUT.minusSeconds(1));
        assertThat(killedWorkers()).isEmpty();
        advanceTime(Duration.ofSeconds(1));
        advanceTime(Duration.ofSeconds(1));
        assertThat(killedWorkers()).contains(2);
        assertThat(abortReasons()).isEmpty();
    }

    @Test
    void newWorkerExitingBeforeJoiningIsAFailure() {
        startFourWorkers();
        workerFails(3);
        workerReady(0, 0, "lost", 1, 2);
        advanceTime(Duration.ofSeconds(1));
        handle(new DriverEvent.WorkerExited(4, false, "exit code 0"));
        assertThat(infoMessages())
                .last()
                .asString()
                .isEqualTo(
                        "worker 4 on a failed: it exited before it took part in the training, with exit"
                                + " code 0. Twice on this slot: Host a is blacklisted: nothing is"
                                + " started there for 10 s.");
        advanceTime(Duration.ofSeconds(10));
        assertThat(startedWorkers())
                .as("the job still grows")
                .last()
                .isEqualTo(new Worker(5, "a", 3));
        assertThat(elasticDriver.failure()).isEmpty();
    }
}
