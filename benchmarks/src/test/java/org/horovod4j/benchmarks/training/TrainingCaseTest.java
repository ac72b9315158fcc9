package org.horovod4j.benchmarks.training;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import org.horovod4j.benchmarks.report.Percentiles;
import org.horovod4j.benchmarks.report.Result;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class TrainingCaseTest {
    @ParameterizedTest
    @ValueSource(
            strings = {
                "independent-native",
                "allreduce-sliced",
                "overlap-resnet50*8",
                "sequential-mnist*64+waited",
                "default-mnist*64",
            })
    void programNameRoundTrips(String program) {
        assertThat(trial(program).program()).isEqualTo(program);
    }

    @Test
    void parsesEachPart() {
        assertThat(trial("sequential-resnet50*8+waited"))
                .isEqualTo(
                        new TrainingCase(
                                2, TrainingMode.SEQUENTIAL, "resnet50", 8, StepMetric.WAITED));
    }

    @ParameterizedTest
    @ValueSource(
            strings = {"", "overlap", "overlap-", "overlap-mnist*", "overlap-mnist+", "Overlap-x"})
    void invalidProgramNameIsRejected(String program) {
        assertThatIllegalArgumentException()
                .isThrownBy(() -> trial(program))
                .withMessageContaining("'" + program + "'");
    }

    @Test
    void unknownModeErrorListsTheValidModes() {
        assertThatIllegalArgumentException()
                .isThrownBy(() -> trial("never-native"))
                .withMessageContaining("'never'")
                .withMessageContaining("overlap");
    }

    private static TrainingCase trial(String program) {
        return TrainingCase.of(new Result(program, "shm", 2, 4, 1, 1, new Percentiles(1, 1, 1)));
    }
}
