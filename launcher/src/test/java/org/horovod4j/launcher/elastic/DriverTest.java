package org.horovod4j.launcher.elastic;

import static org.assertj.core.api.Assertions.assertThat;

import org.horovod4j.launcher.plan.Host;
import org.junit.jupiter.api.Test;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.IntStream;

/// Courses of a job, told event by event.
class DriverTest {
    private static final Duration PATIENCE = Duration.ofSeconds(60);

    private final List<Action> actions = new ArrayList<>();
    private Driver driver = driver(4, 2, 4, Limits.NONE);
    private Duration now = Duration.ZERO;

    private static Driver driver(int first, int least, int most, int resets) {
        return new Driver(
                new Limits(first, least, most, resets),
                PATIENCE,
                new Cooldown(Duration.ofSeconds(10), Duration.ofSeconds(100)));
    }

    @Test
    void theFirstGenerationWaitsForAllAndGetsItsStateFromTheOldest() {
        list(new Host("a", 2), new Host("b", 2));
        ready(0, -1, 2, 1);
        assertThat(forms()).isEmpty();
        ready(3, -1);
        assertThat(form()).isEqualTo("0: [0, 1, 2, 3] sync");
    }

    @Test
    void fewerSlotsThanAskedForAreNoStart() {
        list(new Host("a", 2));
        ready(0, -1, 1);
        assertThat(forms()).isEmpty();
        pass(PATIENCE.minusSeconds(1));
        assertThat(givenUp()).isEmpty();
        pass(Duration.ofSeconds(1));
        assertThat(givenUp())
                .containsExactly(
                        "after 60 s 2 workers are ready, and it needs 4. Hosts: a:2. Find more of them, or"
                                + " raise --elastic-timeout");
    }

    @Test
    void survivorsGoOnAtOnceAndTheNewWorkerJoinsWhenItIsReady() {
        run();
        fail(2);
        assertThat(said())
                .last()
                .asString()
                .contains("worker 2 on a (rank 2) failed: killed. Its slot gets another try.");
        assertThat(starts()).as("not before the others have recovered").hasSize(4);
        ready(0, 0, "lost", 1);
        assertThat(forms()).hasSize(1);
        ready(3, 0, "lost");
        assertThat(form()).isEqualTo("1: [0, 1, 3] sync");
        pass(Duration.ofSeconds(1));
        assertThat(starts()).hasSize(5).last().isEqualTo(new Worker(4, "a", 2));
        assertThat(callBacks()).isZero();
        ready(4, -1);
        assertThat(callBacks()).isEqualTo(1);
        pass(Duration.ofSeconds(1));
        assertThat(callBacks()).isEqualTo(1);
        ready(0, 1, "", 1, 3);
        assertThat(form()).isEqualTo("2: [0, 1, 3, 4] sync");
    }

    @Test
    void theOldestSurvivorBecomesRankZero() {
        run();
        fail(0);
        ready(3, 0, "lost", 2, 1);
        assertThat(form()).isEqualTo("1: [1, 2, 3] sync");
    }

    @Test
    void twoFailuresAtOnceAreOneReset() {
        run();
        fail(0);
        fail(3);
        ready(1, 0, "lost", 2);
        assertThat(form()).isEqualTo("1: [1, 2] sync");
    }

    @Test
    void aFailureDuringRecoveryIsAnotherLoss() {
        run();
        fail(0);
        ready(1, 0, "lost");
        fail(1);
        ready(2, 0, "lost", 3);
        assertThat(form()).isEqualTo("1: [2, 3] sync");
    }

    @Test
    void tooFewSurvivorsWaitForNewWorkers() {
        driver = driver(4, 4, 4, Limits.NONE);
        run();
        fail(1);
        ready(0, 0, "lost", 2, 3);
        assertThat(forms()).hasSize(1);
        pass(Duration.ofSeconds(1));
        ready(4, -1);
        assertThat(form()).isEqualTo("1: [0, 2, 3, 4] sync");
    }

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
    void aWorkerThatStartsForEverKeepsTheOthersWaitingForAMomentOnly() {
        driver = driver(2, 2, 4, Limits.NONE);
        list(new Host("a", 2));
        ready(0, -1, 1);
        list(new Host("a", 4));
        ready(2, -1);
        pass(Muster.GATHERING);
        assertThat(callBacks()).isEqualTo(1);
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
    void aNewWorkerBeyondTheMostNeedNotWaitForTheNextGeneration() {
        driver = driver(2, 2, 2, Limits.NONE);
        list(new Host("a", 2));
        ready(0, -1, 1);
        list(new Host("a", 1), new Host("b", 1));
        list(new Host("a", 2), new Host("b", 1));
        ready(2, -1);
        assertThat(dismissed()).containsExactly(2);
        assertThat(callBacks()).isZero();
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
    void aWorkerThatFallsSilentIsKilled() {
        run();
        act(new Event.Silent(1, "silent for 10 s"));
        assertThat(kills()).isEmpty();
        pass(Vigil.LIMIT);
        assertThat(kills()).containsExactly(1);
        fail(1);
        assertThat(said())
                .last()
                .asString()
                .contains("worker 1 on a (rank 1) failed: silent for 10 s, so it was killed");
    }

    @Test
    void aWorkerThatDoesNotComeBackIsKilledInTheEnd() {
        run();
        fail(3);
        ready(0, 0, "lost", 1);
        pass(PATIENCE.minusSeconds(1));
        assertThat(kills()).isEmpty();
        pass(Duration.ofSeconds(1));
        pass(Duration.ofSeconds(1));
        assertThat(kills()).contains(2);
        assertThat(givenUp()).isEmpty();
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
    void aNewWorkerThatEndsWellBeforeItHadAPlaceIsAFailedStart() {
        run();
        fail(3);
        ready(0, 0, "lost", 1, 2);
        pass(Duration.ofSeconds(1));
        act(new Event.Ended(4, false, "exit code 0"));
        assertThat(said())
                .last()
                .asString()
                .isEqualTo(
                        "worker 4 on a failed: it ended before it had a part in the training, with exit"
                                + " code 0. Twice on this slot: Host a is blacklisted: nothing is"
                                + " started there for 10 s.");
        pass(Duration.ofSeconds(10));
        assertThat(starts()).as("the job still grows").last().isEqualTo(new Worker(5, "a", 3));
        assertThat(driver.failure()).isEmpty();
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

    /// Four workers on one host, in their first generation.
    private void run() {
        list(new Host("a", 4));
        ready(0, -1, 1, 2, 3);
        assertThat(form()).isEqualTo("0: [0, 1, 2, 3] sync");
    }

    private void list(Host... hosts) {
        act(new Event.Listed(List.of(hosts)));
    }

    private void ready(int worker, int generation, int... others) {
        ready(worker, generation, "", others);
    }

    private void ready(int worker, int generation, String why, int... others) {
        act(new Event.Ready(worker, generation, why));
        IntStream.of(others).forEach(each -> act(new Event.Ready(each, generation, why)));
    }

    private void fail(int worker) {
        act(new Event.Ended(worker, true, "killed"));
    }

    private void pass(Duration time) {
        now = now.plus(time);
        act(new Event.Passed());
    }

    /// Hosts open as soon as they are asked to.
    private void act(Event event) {
        List<Action> decided = driver.on(event, now);
        actions.addAll(decided);
        if (event instanceof Event.HostOpened) {
            return;
        }
        for (Action action : decided) {
            if (action instanceof Action.Open(Host host) && !host.name().equals("refusing")) {
                act(new Event.HostOpened(host.name()));
            }
        }
    }

    private List<String> forms() {
        return actions.stream()
                .filter(Action.Form.class::isInstance)
                .map(Action.Form.class::cast)
                .map(
                        form ->
                                "%d: %s%s"
                                        .formatted(
                                                form.generation(),
                                                form.places().keySet().stream()
                                                        .map(Worker::number)
                                                        .toList(),
                                                form.sync() ? " sync" : ""))
                .toList();
    }

    private String form() {
        return forms().getLast();
    }

    private List<Worker> starts() {
        return actions.stream()
                .filter(Action.Start.class::isInstance)
                .map(action -> ((Action.Start) action).worker())
                .toList();
    }

    private long callBacks() {
        return actions.stream().filter(Action.CallBack.class::isInstance).count();
    }

    private List<Integer> dismissed() {
        return actions.stream()
                .filter(Action.Dismiss.class::isInstance)
                .map(action -> ((Action.Dismiss) action).worker().number())
                .toList();
    }

    private List<Integer> kills() {
        return actions.stream()
                .filter(Action.Kill.class::isInstance)
                .map(action -> ((Action.Kill) action).worker().number())
                .toList();
    }

    private List<String> givenUp() {
        return actions.stream()
                .filter(Action.GiveUp.class::isInstance)
                .map(action -> ((Action.GiveUp) action).reason())
                .toList();
    }

    private List<String> said() {
        return actions.stream()
                .filter(Action.Say.class::isInstance)
                .map(action -> ((Action.Say) action).text())
                .toList();
    }
}
