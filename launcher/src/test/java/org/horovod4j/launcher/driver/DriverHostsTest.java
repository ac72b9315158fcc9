package org.horovod4j.launcher.driver;

import static org.assertj.core.api.Assertions.assertThat;

import org.horovod4j.launcher.plan.Host;
import org.junit.jupiter.api.Test;

import java.time.Duration;
import java.util.List;

/// What the elastic driver does when hosts come, go, fail and are lost.
class DriverHostsTest extends DriverScenario {
    @Test
    void newHostIsFilledAndCausesOneReset() {
        elasticDriver = driver(2, 2, 4, ElasticLimits.UNLIMITED);
        discoverHosts(new Host("a", 2));
        workerReady(0, -1, 1);
        discoverHosts(new Host("a", 2), new Host("b", 2));
        assertThat(startedWorkers())
                .containsExactly(
                        new Worker(0, "a", 0),
                        new Worker(1, "a", 1),
                        new Worker(2, "b", 0),
                        new Worker(3, "b", 1));
        workerReady(2, -1);
        assertThat(resetRequests()).as("the other is on its way").isZero();
        workerReady(3, -1);
        assertThat(resetRequests()).isEqualTo(1);
        workerReady(1, 0, "", 0);
        assertThat(lastGeneration()).isEqualTo("1: [0, 1, 2, 3] sync");
        discoverHosts(new Host("a", 2), new Host("b", 2));
        assertThat(resetRequests()).as("nothing has changed").isEqualTo(1);
    }

    @Test
    void removedHostIsReleasedAtNextCommitWithoutSync() {
        elasticDriver = driver(4, 2, 4, ElasticLimits.UNLIMITED);
        discoverHosts(new Host("a", 2), new Host("b", 2));
        workerReady(0, -1, 1, 2, 3);
        discoverHosts(new Host("b", 2));
        assertThat(resetRequests()).isEqualTo(1);
        workerReady(0, 0, "", 1, 2, 3);
        assertThat(lastGeneration()).isEqualTo("1: [2, 3]");
        assertThat(dismissedWorkers()).containsExactly(0, 1);
        assertThat(actions).doesNotContain(new DriverAction.ReleaseHost("a"));
        elasticDriver.handle(new DriverEvent.WorkerExited(0, false, "exit code 0"), now);
        handle(new DriverEvent.WorkerExited(1, false, "exit code 0"));
        assertThat(elasticDriver.isOver()).isFalse();
        assertThat(actions).contains(new DriverAction.ReleaseHost("a"));
    }

    @Test
    void removedHostIsKeptWhileWorkersAreBelowMinimum() {
        elasticDriver = driver(4, 3, 4, ElasticLimits.UNLIMITED);
        discoverHosts(new Host("a", 2), new Host("b", 2));
        workerReady(0, -1, 1, 2, 3);
        discoverHosts(new Host("b", 2));
        assertThat(resetRequests()).isZero();
        assertThat(infoMessages()).last().asString().contains("they stay until others come");
        discoverHosts(new Host("b", 2), new Host("c", 2));
        workerReady(4, -1, 5);
        assertThat(resetRequests()).isEqualTo(1);
        workerReady(0, 0, "", 1, 2, 3);
        assertThat(lastGeneration()).isEqualTo("1: [2, 3, 4, 5] sync");
    }

    @Test
    void replacingAllHostsKeepsOneWorkerToSyncState() {
        elasticDriver = driver(2, 2, 4, ElasticLimits.UNLIMITED);
        discoverHosts(new Host("a", 2));
        workerReady(0, -1, 1);
        discoverHosts(new Host("b", 2));
        assertThat(resetRequests()).isZero();
        workerReady(2, -1, 3);
        workerReady(0, 0, "", 1);
        assertThat(lastGeneration()).isEqualTo("1: [0, 2, 3] sync");
        assertThat(dismissedWorkers()).containsExactly(1);
        assertThat(resetRequests()).as("at once, to let it go").isEqualTo(2);
        workerReady(0, 1, "", 2, 3);
        assertThat(lastGeneration()).isEqualTo("2: [2, 3]");
        assertThat(dismissedWorkers()).containsExactly(1, 0);
    }

    @Test
    void onlyWorkerWithStateStaysUntilAnotherHasIt() {
        elasticDriver = driver(1, 1, 4, ElasticLimits.UNLIMITED);
        discoverHosts(new Host("a", 1));
        workerReady(0, -1);
        discoverHosts(new Host("b", 2));
        workerReady(1, -1, 2);
        workerReady(0, 0);
        assertThat(lastGeneration()).isEqualTo("1: [0, 1, 2] sync");
        workerFails(1); // before worker 2 has received anything
        workerReady(0, 0, "lost");
        workerReady(2, -1, "lost");
        assertThat(abortReasons()).isEmpty();
        assertThat(lastGeneration()).isEqualTo("2: [0, 2] sync");
    }

    @Test
    void flappingHostCausesNoReset() {
        startFourWorkers();
        discoverHosts(new Host("b", 1));
        discoverHosts(new Host("a", 4));
        advanceTime(Duration.ofSeconds(1));
        assertThat(resetRequests()).isZero();
        handle(new DriverEvent.HostsDiscovered(List.of()));
        assertThat(resetRequests()).as("an empty list ends nothing").isZero();
    }

    @Test
    void slotFailingTwiceBlacklistsHostForCooldown() {
        startFourWorkers();
        workerFails(2);
        workerReady(0, 0, "lost", 1, 3);
        advanceTime(Duration.ofSeconds(1));
        workerFails(4);
        assertThat(infoMessages())
                .last()
                .asString()
                .isEqualTo(
                        "worker 4 on a failed: killed. Twice on this slot: Host a is blacklisted: nothing is"
                                + " started there for 10 s.");
        assertThat(lastGeneration()).as("those who run well stay").isEqualTo("1: [0, 1, 3] sync");
        advanceTime(Duration.ofSeconds(9));
        assertThat(startedWorkers()).hasSize(5);
        advanceTime(Duration.ofSeconds(1));
        assertThat(infoMessages()).last().asString().isEqualTo("host a is tried again");
        assertThat(startedWorkers()).last().isEqualTo(new Worker(5, "a", 2));
    }

    @Test
    void lostHostLosesItsWorkersAndReturnsAfterCooldown() {
        discoverHosts(new Host("a", 2), new Host("b", 2));
        workerReady(0, -1, 1, 2, 3);
        handle(new DriverEvent.HostLost("b", "no sign of life"));
        assertThat(infoMessages())
                .last()
                .asString()
                .isEqualTo(
                        "lost contact with host b (workers 2, 3): no sign of life. Host b is blacklisted:"
                                + " nothing is started there for 10 s.");
        handle(new DriverEvent.WorkerExited(2, true, "exit code 255"));
        workerReady(0, 0, "lost", 1);
        assertThat(lastGeneration()).isEqualTo("1: [0, 1] sync");
        advanceTime(Duration.ofSeconds(10));
        assertThat(actions.stream().filter(DriverAction.OpenHost.class::isInstance)).hasSize(3);
        workerReady(4, -1, 5);
        workerReady(0, 1, "", 1);
        assertThat(lastGeneration()).isEqualTo("2: [0, 1, 4, 5] sync");
    }

    @Test
    void lateEventsFromLostHostAreIgnored() {
        discoverHosts(new Host("a", 2), new Host("b", 2));
        workerReady(0, -1, 1, 2);
        handle(new DriverEvent.HostLost("b", "no sign of life"));
        int before = actions.size();
        handle(new DriverEvent.WorkerReady(3, -1, ""));
        handle(new DriverEvent.WorkerUnresponsive(2, "its connection closed"));
        handle(new DriverEvent.WorkerExited(2, true, "exit code 255"));
        handle(new DriverEvent.WorkerExited(3, true, "it cannot be started: its host is gone"));
        advanceTime(LivenessMonitor.GRACE_PERIOD);
        assertThat(actions).hasSize(before);
        workerReady(0, -1);
        assertThat(elasticDriver.failure())
                .contains(
                        new Driver.Failure(
                                new Worker(2, "b", 0),
                                "worker 2 on b",
                                "contact with its host was lost"));
    }

    @Test
    void readyWorkerOfRemovedHostIsDismissedAtOnce() {
        elasticDriver = driver(2, 2, 4, ElasticLimits.UNLIMITED);
        discoverHosts(new Host("a", 2));
        workerReady(0, -1, 1);
        discoverHosts(new Host("a", 2), new Host("b", 1));
        discoverHosts(new Host("a", 2));
        workerReady(2, -1);
        assertThat(dismissedWorkers()).containsExactly(2);
        assertThat(resetRequests()).isZero();
        handle(new DriverEvent.WorkerExited(2, false, "exit code 0"));
        assertThat(actions).contains(new DriverAction.ReleaseHost("b"));
        assertThat(elasticDriver.failure()).isEmpty();
    }

    @Test
    void lossOfRemovedHostIsIgnored() {
        elasticDriver = driver(4, 2, 4, ElasticLimits.UNLIMITED);
        discoverHosts(new Host("a", 2), new Host("b", 2));
        workerReady(0, -1, 1, 2, 3);
        discoverHosts(new Host("a", 2));
        workerReady(0, 0, "", 1, 2, 3);
        handle(new DriverEvent.HostLost("b", "switched off"));
        discoverHosts(new Host("a", 2), new Host("c", 2));
        assertThat(startedWorkers()).contains(new Worker(4, "c", 0), new Worker(5, "c", 1));
        assertThat(elasticDriver.failure()).isEmpty();
    }

    @Test
    void hostThatIsNotReadyIsRetriedLater() {
        elasticDriver = driver(2, 2, 4, ElasticLimits.UNLIMITED);
        actions.addAll(
                elasticDriver.handle(
                        new DriverEvent.HostsDiscovered(
                                List.of(new Host("a", 2), new Host("b", 2))),
                        now));
        handle(new DriverEvent.HostOpened("a"));
        handle(new DriverEvent.HostNotReady("b", "it has no java."));
        workerReady(0, -1, 1);
        assertThat(lastGeneration()).isEqualTo("0: [0, 1] sync");
        advanceTime(Duration.ofSeconds(10));
        assertThat(actions.stream().filter(DriverAction.OpenHost.class::isInstance)).hasSize(3);
    }

    @Test
    void emptyHostListIsReportedAndIgnored() {
        discoverHosts();
        assertThat(infoMessages()).containsExactly("no host is listed yet; the job waits for some");
        startFourWorkers();
        discoverHosts();
        assertThat(infoMessages())
                .last()
                .isEqualTo("no host is listed any more; the job continues with those it has");
        assertThat(resetRequests()).isZero();
    }
}
