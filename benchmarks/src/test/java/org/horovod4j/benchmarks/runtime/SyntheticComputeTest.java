package org.horovod4j.benchmarks.runtime;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class SyntheticComputeTest {
    @ParameterizedTest
    @ValueSource(ints = {0, 1, 2, 5})
    void runsTheGivenNumberOfIterations(int rounds) {
        SyntheticCompute work = new SyntheticCompute();

        work.run(rounds);

        // Each operation halves the distance to two. The initial distances of all chains add up to
        // 2.5.
        double left = 2.5 * Math.pow(0.5, rounds * SyntheticCompute.OPERATIONS_PER_ITERATION);
        assertThat(work.checksum()).isCloseTo(8 - left, within(1e-14));
    }
}
