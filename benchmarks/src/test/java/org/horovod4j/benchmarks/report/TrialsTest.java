package org.horovod4j.benchmarks.report;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import org.junit.jupiter.api.Test;

import java.util.List;

class TrialsTest {
    @Test
    void gathersTheRoundsOfEachTrialInTheOrderOfTheRun() {
        Trials<String> trials =
                new Trials<>(
                        List.of(
                                Result.parse("slow@shm,2,4,30,1,1"),
                                Result.parse("fast@shm,2,4,10,1,1"),
                                Result.parse("slow@shm,2,4,40,1,1")),
                        Result::program);

        assertThat(trials.all()).containsExactly("slow", "fast");
        assertThat(trials.rounds("slow").medians()).containsExactly(30.0, 40.0);
        assertThat(trials.rounds("fast").medians()).containsExactly(10.0);
        assertThat(trials.rounds("unknown")).isEqualTo(Rounds.NONE);
    }

    @Test
    void needsResults() {
        assertThatIllegalArgumentException()
                .isThrownBy(() -> new Trials<>(List.of(), Result::program))
                .withMessageContaining("no results");
    }
}
