package org.horovod4j.launcher.driver;

import static org.assertj.core.api.Assertions.assertThat;

import org.horovod4j.launcher.plan.Host;
import org.junit.jupiter.api.Test;

import java.time.Duration;
import java.util.stream.IntStream;

/// How elastic jobs end: with success, or because they cannot continue.
class DriverEndTest extends DriverScenario {
    @Test
    void tooFewSlotsAbortJobAfterTimeout() {
        discoverHosts(new Host("a", 2));
        workerReady(0, -1, 1);
        assertThat(generations()).isEmpty();
        assertThat(infoMessages())
                .containsExactly(
                        "the job needs 4 workers, and its hosts have slots for 2 (a:2): it waits for more, 60 s"
                                + " at most");
        advanceTime(TIMEOUT.minusSeconds(1));
        assertThat(abortReasons()).isEmpty();
        advanceTime(Duration.ofSeconds(1));
        assertThat(abortReasons())
                .containsExactly(
                        "after 60 s it has 2 workers ready, and it needs 4. Hosts: a:2. Find more of them, or"
                                + " raise --elastic-timeout");
    }

    @Test
    void jobAbortsWhenAllHostsAreBlacklistedBeforeStart() {
        discoverHosts(new Host("a", 2));
        workerFails(0);
        workerFails(1);
        assertThat(abortReasons()).isEmpty();
        advanceTime(Duration.ofSeconds(1));
        workerFails(2);
        assertThat(abortReasons()).isEmpty();
        workerFails(3);
        assertThat(abortReasons())
                .containsExactly(
                        "no host is left: all are blacklisted before the training has begun. Try the"
                                + " command by itself on one of them");
        assertThat(elasticDriver.isOver()).isTrue();
        assertThat(elasticDriver.failure())
                .contains(new Driver.Failure(new Worker(0, "a", 0), "worker 0 on a", "killed"));
    }

    @Test
    void losingAllWorkersAbortsJob() {
        startFourWorkers();
        IntStream.range(0, 4).forEach(this::workerFails);
        assertThat(abortReasons())
                .containsExactly(
                        "all workers are lost, and the state of the training with them. Start it again"
                                + " from a checkpoint");
        assertThat(elasticDriver.isOver()).isTrue();
    }

    @Test
    void jobAbortsWhenNoSurvivorHasState() {
        elasticDriver = driver(1, 1, 2, ElasticLimits.UNLIMITED);
        discoverHosts(new Host("a", 1));
        workerReady(0, -1);
        discoverHosts(new Host("a", 2));
        workerReady(1, -1);
        workerReady(0, 0, "");
        assertThat(lastGeneration()).isEqualTo("1: [0, 1] sync");
        workerFails(0);
        workerReady(1, -1, "lost during sync");
        assertThat(abortReasons())
                .containsExactly(
                        "the workers that are left never got the state of the training. Start it again"
                                + " from a checkpoint");
    }

    @Test
    void resetLimitAbortsJob() {
        elasticDriver = driver(4, 1, 4, 1);
        startFourWorkers();
        workerFails(3);
        workerReady(0, 0, "lost", 1, 2);
        assertThat(lastGeneration()).isEqualTo("1: [0, 1, 2] sync");
        advanceTime(Duration.ofSeconds(9));
        assertThat(startedWorkers()).as("a new one could not join").hasSize(4);
        workerFails(2);
        workerReady(0, 1, "lost", 1);
        assertThat(abortReasons())
                .containsExactly(
                        "its workers have changed 1 time, which is all that --reset-limit allows. Raise"
                                + " it, or leave it out");
    }

    @Test
    void firstFinishedWorkerStopsNewWorkers() {
        startFourWorkers();
        workerFails(3);
        workerReady(0, 0, "lost", 1, 2);
        advanceTime(Duration.ofSeconds(1));
        handle(new DriverEvent.WorkerExited(0, false, "exit code 0"));
        assertThat(killedWorkers()).as("the one that was starting").containsExactly(4);
        workerReady(1, 1, "rank 0 has left");
        assertThat(dismissedWorkers()).containsExactly(1);
        handle(new DriverEvent.WorkerExited(1, false, "exit code 0"));
        handle(new DriverEvent.WorkerExited(4, true, "killed"));
        assertThat(elasticDriver.isOver()).isFalse();
        handle(new DriverEvent.WorkerExited(2, false, "exit code 0"));
        assertThat(elasticDriver.isOver()).isTrue();
        assertThat(elasticDriver.failure()).isEmpty();
    }

    @Test
    void failureWhileFinishingFailsJob() {
        startFourWorkers();
        handle(new DriverEvent.WorkerExited(0, false, "exit code 0"));
        workerFails(1);
        handle(new DriverEvent.WorkerExited(2, false, "exit code 0"));
        handle(new DriverEvent.WorkerExited(3, false, "exit code 0"));
        assertThat(elasticDriver.isOver()).isTrue();
        assertThat(elasticDriver.failure())
                .contains(new Driver.Failure(new Worker(1, "a", 1), "worker 1 on a", "killed"));
    }

    @Test
    void programThatNeverJoinsCanSucceed() {
        discoverHosts(new Host("a", 4));
        IntStream.range(0, 4)
                .forEach(each -> handle(new DriverEvent.WorkerExited(each, false, "exit code 0")));
        assertThat(elasticDriver.isOver()).isTrue();
        assertThat(killedWorkers()).isEmpty();
    }
}
