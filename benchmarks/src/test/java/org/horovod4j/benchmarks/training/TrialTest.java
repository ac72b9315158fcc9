package org.horovod4j.benchmarks.training;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import org.horovod4j.benchmarks.report.Result;
import org.horovod4j.benchmarks.report.Spread;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class TrialTest {
    @ParameterizedTest
    @ValueSource(
            strings = {
                "alone-native",
                "communicate-sliced",
                "overlap-resnet50*8",
                "end-mnist*64+waited",
                "default-mnist*64",
            })
    void isReadFromTheProgramThatItWrites(String program) {
        assertThat(trial(program).program()).isEqualTo(program);
    }

    @Test
    void knowsItsParts() {
        assertThat(trial("end-resnet50*8+waited"))
                .isEqualTo(new Trial(2, Way.END, "resnet50", 8, Quantity.WAITED));
    }

    @ParameterizedTest
    @ValueSource(
            strings = {"", "overlap", "overlap-", "overlap-mnist*", "overlap-mnist+", "Overlap-x"})
    void anythingElseIsRefused(String program) {
        assertThatIllegalArgumentException()
                .isThrownBy(() -> trial(program))
                .withMessageContaining("'" + program + "'");
    }

    @Test
    void anUnknownWayIsToldTheKnownOnes() {
        assertThatIllegalArgumentException()
                .isThrownBy(() -> trial("never-native"))
                .withMessageContaining("'never'")
                .withMessageContaining("overlap");
    }

    private static Trial trial(String program) {
        return Trial.of(new Result(program, "shm", 2, 4, new Spread(1, 1, 1)));
    }
}
