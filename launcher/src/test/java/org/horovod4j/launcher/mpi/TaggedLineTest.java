package org.horovod4j.launcher.mpi;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class TaggedLineTest {
    @Test
    void openMpiAndHydraTagsAreParsed() {
        assertThat(TaggedLine.parse("[1,12]<stderr>:disk full"))
                .contains(new TaggedLine(12, "disk full"));
        assertThat(TaggedLine.parse("[1,0]<stdout>:")).contains(new TaggedLine(0, ""));
        assertThat(TaggedLine.parse("Mon Nov  6 05:09:54 2026[1,3]<stderr>:[4] x"))
                .contains(new TaggedLine(3, "[4] x"));
        assertThat(TaggedLine.parse("[7] disk full")).contains(new TaggedLine(7, "disk full"));
    }

    @ParameterizedTest
    @ValueSource(
            strings = {"", "mpirun noticed [1] ", "[1]", "[vm:123] MCA error", "[1,0]<diag>:x"})
    void linesOfMpirunItselfHaveNoTag(String line) {
        assertThat(TaggedLine.parse(line)).isEmpty();
    }
}
