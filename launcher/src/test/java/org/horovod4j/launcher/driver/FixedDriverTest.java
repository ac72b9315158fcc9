package org.horovod4j.launcher.driver;

import static org.assertj.core.api.Assertions.assertThat;

import org.horovod4j.launcher.plan.Host;
import org.horovod4j.launcher.plan.HostPlan;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

import java.time.Duration;
import java.util.List;

class FixedDriverTest {
    private static final Worker RANK_0 = new Worker(0, "a", 0);
    private static final Worker RANK_1 = new Worker(1, "b", 0);
    private static final Worker RANK_2 = new Worker(2, "b", 1);

    private final FixedDriver driver =
            new FixedDriver(HostPlan.of(List.of(new Host("a", 1), new Host("b", 2)), 3));

    private List<DriverAction> handle(DriverEvent event) {
        return driver.handle(event, Duration.ZERO);
    }

    private List<DriverAction> exits(int rank, int code) {
        return handle(new DriverEvent.WorkerExited(rank, code != 0, "exit code " + code));
    }

    @BeforeEach
    void startAllRanks() {
        assertThat(handle(new DriverEvent.JobStarted()))
                .containsExactly(
                        new DriverAction.StartWorker(RANK_0),
                        new DriverAction.StartWorker(RANK_1),
                        new DriverAction.StartWorker(RANK_2));
        for (int rank = 0; rank < 3; rank++) {
            assertThat(handle(new DriverEvent.WorkerStarted(rank, 100 + rank))).isEmpty();
        }
    }

    @Test
    void jobIsOverWhenAllRanksHaveExited() {
        for (int rank = 0; rank < 3; rank++) {
            assertThat(driver.isOver()).isFalse();
            assertThat(exits(rank, 0)).allMatch(DriverAction.Verbose.class::isInstance);
        }
        assertThat(driver.isOver()).isTrue();
        assertThat(driver.failure()).isEmpty();
    }

    @Test
    void firstFailureEndsJobOnce() {
        assertThat(exits(1, 3))
                .containsExactly(
                        new DriverAction.FailJob(),
                        new DriverAction.Info("rank 1 on b (process 101) failed: exit code 3"));
        assertThat(exits(0, 1))
                .containsExactly(
                        new DriverAction.Info("rank 0 on a (process 100) failed: exit code 1"));
        assertThat(driver.failure())
                .contains(new Driver.Failure(RANK_1, "rank 1 on b (process 101)", "exit code 3"));
    }

    @Test
    void exitsAfterSignalAreNotFailures() {
        handle(new DriverEvent.SignalSent());
        assertThat(exits(1, 143)).allMatch(DriverAction.Verbose.class::isInstance);
        assertThat(driver.failure()).isEmpty();
    }

    @Test
    void reportedRankCountsAsFirstFailure() {
        handle(new DriverEvent.FailureReported(1, "its program failed"));
        exits(0, 1);
        assertThat(driver.failure()).map(Driver.Failure::reason).contains("its program failed");
        exits(1, 3);
        assertThat(driver.failure())
                .contains(new Driver.Failure(RANK_1, "rank 1 on b (process 101)", "exit code 3"));
    }

    @Test
    void reportedRankThatExitsWithZeroDoesNotCount() {
        handle(new DriverEvent.FailureReported(1, "its connection closed"));
        exits(1, 0);
        exits(0, 1);
        assertThat(driver.failure()).map(Driver.Failure::worker).contains(RANK_0);
    }

    @Test
    void missedRankThatExitsWithZeroCounts() {
        handle(new DriverEvent.FailureReported(1, "its process has ended"));
        handle(new DriverEvent.RankMissed(1, "its process has ended"));
        exits(1, 0);
        exits(0, 1);
        assertThat(driver.failure())
                .contains(
                        new Driver.Failure(
                                RANK_1,
                                "rank 1 on b (process 101)",
                                "exit code 0 while other ranks still needed it (its process has"
                                        + " ended)"));
    }

    @Test
    void rankThatFailsBecauseItMissesAnotherIsNotFirst() {
        handle(new DriverEvent.RankMissed(1, "called shutdown"));
        handle(new DriverEvent.FailureReported(0, "its program failed"));
        exits(0, 1);
        exits(1, 0);
        assertThat(driver.failure()).map(Driver.Failure::worker).contains(RANK_1);
    }

    @Test
    void reportAfterFirstFailureIsIgnored() {
        exits(0, 1);
        handle(new DriverEvent.FailureReported(1, "its connection closed"));
        assertThat(driver.failure()).map(Driver.Failure::worker).contains(RANK_0);
    }

    @Test
    void lostHostFailsItsRanks() {
        assertThat(handle(new DriverEvent.HostLost("b", "no route")))
                .containsExactly(
                        new DriverAction.FailJob(),
                        new DriverAction.Info(
                                "lost contact with host b (ranks 1, 2): no route. Its processes"
                                        + " there end by themselves."));
        assertThat(exits(1, 137)).isEmpty();
        exits(0, 0);
        assertThat(driver.isOver()).isTrue();
        assertThat(driver.failure()).map(Driver.Failure::worker).contains(RANK_1);
    }

    @Test
    void lossOfHostWithoutRanksIsNoFailure() {
        exits(0, 0);
        assertThat(handle(new DriverEvent.HostLost("a", "no route")))
                .allMatch(DriverAction.Verbose.class::isInstance);
        assertThat(driver.failure()).isEmpty();
    }

    @Test
    void rankThatCannotStartAbortsStart() {
        assertThat(handle(new DriverEvent.WorkerNotStarted(2, "no memory")))
                .containsExactly(new DriverAction.AbortStart("no memory"));
    }
}
