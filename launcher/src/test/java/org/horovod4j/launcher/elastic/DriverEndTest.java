package org.horovod4j.launcher.elastic;

import static org.assertj.core.api.Assertions.assertThat;

import org.horovod4j.launcher.plan.Host;
import org.junit.jupiter.api.Test;

import java.time.Duration;
import java.util.stream.IntStream;

/// How jobs end: well, or because they cannot go on.
class DriverEndTest extends DriverStory {
    @Test
    void fewerSlotsThanAskedForAreNoStart() {
        list(new Host("a", 2));
        ready(0, -1, 1);
        assertThat(forms()).isEmpty();
        assertThat(said())
                .containsExactly(
                        "the job needs 4 workers, and its hosts have slots for 2 (a:2): it waits for more, 60 s"
                                + " at most");
        pass(PATIENCE.minusSeconds(1));
        assertThat(givenUp()).isEmpty();
        pass(Duration.ofSeconds(1));
        assertThat(givenUp())
                .containsExactly(
                        "after 60 s 2 workers are ready, and it needs 4. Hosts: a:2. Find more of them, or"
                                + " raise --elastic-timeout");
    }

    @Test
    void whatCannotStartAnywhereEndsTheJob() {
        list(new Host("a", 2));
        fail(0);
        fail(1);
        assertThat(givenUp()).isEmpty();
        pass(Duration.ofSeconds(1));
        fail(2);
        assertThat(givenUp()).isEmpty();
        fail(3);
        assertThat(givenUp())
                .containsExactly(
                        "no host is left: all are blacklisted before the training has begun. Try the"
                                + " command by itself on one of them");
        assertThat(driver.isOver()).isTrue();
        assertThat(driver.failure()).contains(new Driver.Failure(new Worker(0, "a", 0), "killed"));
    }

    @Test
    void aJobThatLosesAllItsWorkersHasLostItsState() {
        run();
        IntStream.range(0, 4).forEach(this::fail);
        assertThat(givenUp())
                .containsExactly(
                        "all workers are lost, and the state of the training with them. Start it again"
                                + " from a checkpoint");
        assertThat(driver.isOver()).isTrue();
    }

    @Test
    void workersWithoutStateDoNotGoOnFromNothing() {
        driver = driver(1, 1, 2, Limits.NONE);
        list(new Host("a", 1));
        ready(0, -1);
        list(new Host("a", 2));
        ready(1, -1);
        ready(0, 0, "");
        assertThat(form()).isEqualTo("1: [0, 1] sync");
        fail(0);
        ready(1, -1, "lost during sync");
        assertThat(givenUp())
                .containsExactly(
                        "the workers that are left never got the state of the training. Start it again"
                                + " from a checkpoint");
    }

    @Test
    void theResetLimitEndsAJobThatLosesAWorkerOnceTooOften() {
        driver = driver(4, 1, 4, 1);
        run();
        fail(3);
        ready(0, 0, "lost", 1, 2);
        assertThat(form()).isEqualTo("1: [0, 1, 2] sync");
        pass(Duration.ofSeconds(9));
        assertThat(starts()).as("a new one could not join").hasSize(4);
        fail(2);
        ready(0, 1, "lost", 1);
        assertThat(givenUp())
                .containsExactly(
                        "its workers have changed 1 times, which is all that --reset-limit allows. Raise"
                                + " it, or leave it out");
    }

    @Test
    void whenOneHasFinishedNobodyNewIsNeeded() {
        run();
        fail(3);
        ready(0, 0, "lost", 1, 2);
        pass(Duration.ofSeconds(1));
        act(new Event.Ended(0, false, "exit code 0"));
        assertThat(kills()).as("the one that was starting").containsExactly(4);
        ready(1, 1, "rank 0 has left");
        assertThat(dismissed()).containsExactly(1);
        act(new Event.Ended(1, false, "exit code 0"));
        act(new Event.Ended(4, true, "killed"));
        assertThat(driver.isOver()).isFalse();
        act(new Event.Ended(2, false, "exit code 0"));
        assertThat(driver.isOver()).isTrue();
        assertThat(driver.failure()).isEmpty();
    }

    @Test
    void aFailureInTheLastGenerationIsOneOfTheJob() {
        run();
        act(new Event.Ended(0, false, "exit code 0"));
        fail(1);
        act(new Event.Ended(2, false, "exit code 0"));
        act(new Event.Ended(3, false, "exit code 0"));
        assertThat(driver.isOver()).isTrue();
        assertThat(driver.failure()).contains(new Driver.Failure(new Worker(1, "a", 1), "killed"));
    }

    @Test
    void aProgramThatAsksForNoPlaceMayEndWellToo() {
        list(new Host("a", 4));
        IntStream.range(0, 4).forEach(each -> act(new Event.Ended(each, false, "exit code 0")));
        assertThat(driver.isOver()).isTrue();
        assertThat(kills()).isEmpty();
    }
}
