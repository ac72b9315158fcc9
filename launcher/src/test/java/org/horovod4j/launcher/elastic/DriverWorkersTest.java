package org.horovod4j.launcher.elastic;

import static org.assertj.core.api.Assertions.assertThat;

import org.horovod4j.launcher.plan.Host;
import org.junit.jupiter.api.Test;

import java.time.Duration;

/// How generations follow each other as workers fail, fall silent and begin.
class DriverWorkersTest extends DriverStory {
    @Test
    void theFirstGenerationWaitsForAllAndGetsItsStateFromTheOldest() {
        list(new Host("a", 2), new Host("b", 2));
        ready(0, -1, 2, 1);
        assertThat(forms()).isEmpty();
        ready(3, -1);
        assertThat(form()).isEqualTo("0: [0, 1, 2, 3] sync");
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
}
