package org.horovod4j.launcher.mpi;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class MarkTest {
    @Test
    void openMpiAndHydraMarkLinesInTheirWays() {
        assertThat(Mark.of("[1,12]<stderr>:disk full")).contains(new Mark(12, "disk full"));
        assertThat(Mark.of("[1,0]<stdout>:")).contains(new Mark(0, ""));
        assertThat(Mark.of("Mon Nov  6 05:09:54 2026[1,3]<stderr>:[4] x"))
                .contains(new Mark(3, "[4] x"));
        assertThat(Mark.of("[7] disk full")).contains(new Mark(7, "disk full"));
    }

    @ParameterizedTest
    @ValueSource(
            strings = {"", "mpirun noticed [1] ", "[1]", "[vm:123] MCA error", "[1,0]<diag>:x"})
    void whatMpirunSaysItselfHasNoMark(String line) {
        assertThat(Mark.of(line)).isEmpty();
    }
}
