package org.horovod4j.benchmarks.report;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class ResultTest {
    @Test
    void lineRoundTrips() {
        Result result =
                new Result("openmpi", "shm", 2, 1024, 3, 1, new Percentiles(0.449, 0.446, 0.458));

        assertThat(result.toLine()).isEqualTo("openmpi@shm,2,1024,3,1,0.449,0.446,0.458");
        assertThat(Result.parse(result.toLine())).isEqualTo(result);
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "",
                "openmpi@shm,2,1024,0.449,0.446,0.458",
                "openmpi,2,1024,1,1,0.449,0.446,0.458"
            })
    void invalidLineIsRejected(String line) {
        assertThatIllegalArgumentException()
                .isThrownBy(() -> Result.parse(line))
                .withMessageContaining("'" + line + "'");
    }
}
