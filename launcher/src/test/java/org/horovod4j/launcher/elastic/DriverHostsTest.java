package org.horovod4j.launcher.elastic;

import static org.assertj.core.api.Assertions.assertThat;

import org.horovod4j.launcher.plan.Host;
import org.junit.jupiter.api.Test;

import java.time.Duration;
import java.util.List;

/// What the driver does when hosts come, go, fail and are lost.
class DriverHostsTest extends DriverStory {
    @Test
    void aHostThatComesIsFilledAndAllAreCalledBackOnce() {
        driver = driver(2, 2, 4, Limits.NONE);
        list(new Host("a", 2));
        ready(0, -1, 1);
        list(new Host("a", 2), new Host("b", 2));
        assertThat(starts())
                .containsExactly(
                        new Worker(0, "a", 0),
                        new Worker(1, "a", 1),
                        new Worker(2, "b", 0),
                        new Worker(3, "b", 1));
        ready(2, -1);
        assertThat(callBacks()).as("the other is on its way").isZero();
        ready(3, -1);
        assertThat(callBacks()).isEqualTo(1);
        ready(1, 0, "", 0);
        assertThat(form()).isEqualTo("1: [0, 1, 2, 3] sync");
        list(new Host("a", 2), new Host("b", 2));
        assertThat(callBacks()).as("nothing has changed").isEqualTo(1);
    }

    @Test
    void aHostThatGoesIsLeftAtTheNextCommitWithoutASync() {
        driver = driver(4, 2, 4, Limits.NONE);
        list(new Host("a", 2), new Host("b", 2));
        ready(0, -1, 1, 2, 3);
        list(new Host("b", 2));
        assertThat(callBacks()).isEqualTo(1);
        ready(0, 0, "", 1, 2, 3);
        assertThat(form()).isEqualTo("1: [2, 3]");
        assertThat(dismissed()).containsExactly(0, 1);
        assertThat(actions).doesNotContain(new Action.Release("a"));
        driver.on(new Event.Ended(0, false, "exit code 0"), now);
        act(new Event.Ended(1, false, "exit code 0"));
        assertThat(driver.isOver()).isFalse();
        assertThat(actions).contains(new Action.Release("a"));
    }

    @Test
    void aHostIsNotLeftWhileThereAreTooFewOthers() {
        driver = driver(4, 3, 4, Limits.NONE);
        list(new Host("a", 2), new Host("b", 2));
        ready(0, -1, 1, 2, 3);
        list(new Host("b", 2));
        assertThat(callBacks()).isZero();
        assertThat(said()).last().asString().contains("they stay until others come");
        list(new Host("b", 2), new Host("c", 2));
        ready(4, -1, 5);
        assertThat(callBacks()).isEqualTo(1);
        ready(0, 0, "", 1, 2, 3);
        assertThat(form()).isEqualTo("1: [2, 3, 4, 5] sync");
    }

    @Test
    void whenAllHostsAreExchangedOneStaysToHandOverTheState() {
        driver = driver(2, 2, 4, Limits.NONE);
        list(new Host("a", 2));
        ready(0, -1, 1);
        list(new Host("b", 2));
        assertThat(callBacks()).isZero();
        ready(2, -1, 3);
        ready(0, 0, "", 1);
        assertThat(form()).isEqualTo("1: [0, 2, 3] sync");
        assertThat(dismissed()).containsExactly(1);
        assertThat(callBacks()).as("at once, to let it go").isEqualTo(2);
        ready(0, 1, "", 2, 3);
        assertThat(form()).isEqualTo("2: [2, 3]");
        assertThat(dismissed()).containsExactly(1, 0);
    }

    @Test
    void whoeverHandsOverTheStateStaysUntilAnotherHasIt() {
        driver = driver(1, 1, 4, Limits.NONE);
        list(new Host("a", 1));
        ready(0, -1);
        list(new Host("b", 2));
        ready(1, -1, 2);
        ready(0, 0);
        assertThat(form()).isEqualTo("1: [0, 1, 2] sync");
        fail(1); // before worker 2 has received anything
        ready(0, 0, "lost");
        ready(2, -1, "lost");
        assertThat(givenUp()).isEmpty();
        assertThat(form()).isEqualTo("2: [0, 2] sync");
    }

    @Test
    void aHostThatFlapsCostsAtMostOneReset() {
        run();
        list(new Host("b", 1));
        list(new Host("a", 4));
        pass(Duration.ofSeconds(1));
        assertThat(callBacks()).isZero();
        act(new Event.Listed(List.of()));
        assertThat(callBacks()).as("nobody listed is no order to end").isZero();
    }

    @Test
    void aSlotThatFailsTwiceBlacklistsItsHostForAWhile() {
        run();
        fail(2);
        ready(0, 0, "lost", 1, 3);
        pass(Duration.ofSeconds(1));
        fail(4);
        assertThat(said())
                .last()
                .asString()
                .isEqualTo(
                        "worker 4 on a failed: killed. Twice on this slot: Host a is blacklisted: nothing is"
                                + " started there for 10 s.");
        assertThat(form()).as("those who run well stay").isEqualTo("1: [0, 1, 3] sync");
        pass(Duration.ofSeconds(9));
        assertThat(starts()).hasSize(5);
        pass(Duration.ofSeconds(1));
        assertThat(said()).last().asString().isEqualTo("host a is tried again");
        assertThat(starts()).last().isEqualTo(new Worker(5, "a", 2));
    }

    @Test
    void aLostHostTakesItsWorkersAlongAndComesBackAfterItsCooldown() {
        list(new Host("a", 2), new Host("b", 2));
        ready(0, -1, 1, 2, 3);
        act(new Event.HostLost("b", "no sign of life"));
        assertThat(said())
                .last()
                .asString()
                .isEqualTo(
                        "lost contact with host b (workers 2, 3): no sign of life. Host b is blacklisted:"
                                + " nothing is started there for 10 s.");
        act(new Event.Ended(2, true, "exit code 255"));
        ready(0, 0, "lost", 1);
        assertThat(form()).isEqualTo("1: [0, 1] sync");
        pass(Duration.ofSeconds(10));
        assertThat(actions.stream().filter(Action.Open.class::isInstance)).hasSize(3);
        ready(4, -1, 5);
        ready(0, 1, "", 1);
        assertThat(form()).isEqualTo("2: [0, 1, 4, 5] sync");
    }

    @Test
    void newsFromALostHostThatAreBehindItsLossChangeNothing() {
        list(new Host("a", 2), new Host("b", 2));
        ready(0, -1, 1, 2);
        act(new Event.HostLost("b", "no sign of life"));
        int before = actions.size();
        act(new Event.Ready(3, -1, ""));
        act(new Event.Silent(2, "its connection closed"));
        act(new Event.Ended(2, true, "exit code 255"));
        act(new Event.Ended(3, true, "it cannot be started: its host is gone"));
        pass(Vigil.LIMIT);
        assertThat(actions).hasSize(before);
        ready(0, -1);
        assertThat(driver.failure())
                .contains(
                        new Driver.Failure(
                                new Worker(2, "b", 0), "contact with its host was lost"));
    }

    @Test
    void aNewWorkerWhoseHostIsGoneWhenItIsReadyNeedNotWaitForTheNextGeneration() {
        driver = driver(2, 2, 4, Limits.NONE);
        list(new Host("a", 2));
        ready(0, -1, 1);
        list(new Host("a", 2), new Host("b", 1));
        list(new Host("a", 2));
        ready(2, -1);
        assertThat(dismissed()).containsExactly(2);
        assertThat(callBacks()).isZero();
        act(new Event.Ended(2, false, "exit code 0"));
        assertThat(actions).contains(new Action.Release("b"));
        assertThat(driver.failure()).isEmpty();
    }

    @Test
    void theLossOfAHostThatWasLeftIsNoLossToTheJob() {
        driver = driver(4, 2, 4, Limits.NONE);
        list(new Host("a", 2), new Host("b", 2));
        ready(0, -1, 1, 2, 3);
        list(new Host("a", 2));
        ready(0, 0, "", 1, 2, 3);
        act(new Event.HostLost("b", "switched off"));
        list(new Host("a", 2), new Host("c", 2));
        assertThat(starts()).contains(new Worker(4, "c", 0), new Worker(5, "c", 1));
        assertThat(driver.failure()).isEmpty();
    }

    @Test
    void aHostThatIsNotReadyIsTriedAgainLater() {
        driver = driver(2, 2, 4, Limits.NONE);
        actions.addAll(
                driver.on(new Event.Listed(List.of(new Host("a", 2), new Host("b", 2))), now));
        act(new Event.HostOpened("a"));
        act(new Event.HostRefused("b", "it has no java."));
        ready(0, -1, 1);
        assertThat(form()).isEqualTo("0: [0, 1] sync");
        pass(Duration.ofSeconds(10));
        assertThat(actions.stream().filter(Action.Open.class::isInstance)).hasSize(3);
    }

    @Test
    void aListWithoutHostsIsToldAndChangesNothing() {
        list();
        assertThat(said()).containsExactly("no host is listed yet; the job waits for some");
        run();
        list();
        assertThat(said())
                .last()
                .isEqualTo("no host is listed any more; the job goes on with those it has");
        assertThat(callBacks()).isZero();
    }
}
