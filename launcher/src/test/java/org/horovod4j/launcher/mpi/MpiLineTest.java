package org.horovod4j.launcher.mpi;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class MpiLineTest {
    @Test
    void openMpiAndHydraTagsAreParsed() {
        assertThat(MpiLine.parse("[1,12]<stderr>:disk full"))
                .isEqualTo(new MpiLine(12, "disk full"));
        assertThat(MpiLine.parse("[1,0]<stdout>:")).isEqualTo(new MpiLine(0, ""));
        assertThat(MpiLine.parse("Mon Nov  6 05:09:54 2026[1,3]<stderr>:[4] x"))
                .isEqualTo(new MpiLine(3, "[4] x"));
        assertThat(MpiLine.parse("[7] disk full")).isEqualTo(new MpiLine(7, "disk full"));
    }

    @ParameterizedTest
    @ValueSource(
            strings = {"", "mpirun noticed [1] ", "[1]", "[vm:123] MCA error", "[1,0]<diag>:x"})
    void linesOfMpirunItselfHaveNoTag(String line) {
        assertThat(MpiLine.parse(line)).isEqualTo(new MpiLine(null, line));
    }
}
