package org.horovod4j.examples;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import org.horovod4j.testing.World;
import org.junit.jupiter.api.Test;

import java.util.List;

class PiTest {
    private static final int POINTS = 30_000;

    /// About five standard deviations; the points are the same in every run.
    private static final double ERROR = 0.05;

    @Test
    void allRanksReturnSameEstimate() {
        List<Double> estimates = World.of(3).call(comm -> Pi.estimate(comm, POINTS));
        assertThat(estimates).containsOnly(estimates.getFirst());
        assertThat(estimates.getFirst()).isCloseTo(Math.PI, within(ERROR));
    }
}
