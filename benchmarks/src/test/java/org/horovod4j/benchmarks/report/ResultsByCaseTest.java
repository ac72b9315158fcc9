package org.horovod4j.benchmarks.report;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import org.junit.jupiter.api.Test;

import java.util.List;

class ResultsByCaseTest {
    @Test
    void groupsRoundsByCaseInOrderOfMeasurement() {
        ResultsByCase<String> resultsByCase =
                new ResultsByCase<>(
                        List.of(
                                Result.parse("slow@shm,2,4,1,1,30,1,1"),
                                Result.parse("fast@shm,2,4,1,1,10,1,1"),
                                Result.parse("slow@shm,2,4,2,1,40,1,1")),
                        Result::program);

        assertThat(resultsByCase.cases()).containsExactly("slow", "fast");
        assertThat(resultsByCase.rounds("slow").medians().values()).containsExactly(30.0, 40.0);
        assertThat(resultsByCase.rounds("fast").medians().values()).containsExactly(10.0);
        assertThat(resultsByCase.rounds("unknown")).isEqualTo(RoundTimes.NONE);
    }

    @Test
    void emptyResultsAreRejected() {
        assertThatIllegalArgumentException()
                .isThrownBy(() -> new ResultsByCase<>(List.of(), Result::program))
                .withMessageContaining("no results");
    }
}
