package org.horovod4j.examples;

import static org.assertj.core.api.Assertions.assertThat;

import org.horovod4j.ReduceOp;
import org.horovod4j.examples.AdasumSmallModel.Options;
import org.horovod4j.testing.World;
import org.junit.jupiter.api.Test;

import java.util.List;

class AdasumSmallModelTest {
    private static final Options OPTIONS = new Options(4, 0.05, 1000);

    private static int steps(int ranks, ReduceOp op) {
        List<Integer> steps =
                World.of(ranks)
                        .call(
                                comm ->
                                        AdasumSmallModel.stepsToGoal(comm, op, OPTIONS)
                                                .orElseThrow());
        assertThat(steps).containsOnly(steps.getFirst());
        return steps.getFirst();
    }

    /// With the learning rate of one process.
    @Test
    void adasumNeedsLessThanHalfTheSteps() {
        assertThat(steps(4, ReduceOp.ADASUM)).isLessThan(steps(4, ReduceOp.AVERAGE) / 2);
    }

    @Test
    void oneRankHasNothingToCombine() {
        assertThat(steps(1, ReduceOp.ADASUM)).isEqualTo(steps(1, ReduceOp.AVERAGE));
    }
}
