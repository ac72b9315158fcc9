package org.horovod4j.djl;

import static org.assertj.core.api.Assertions.assertThat;

import org.assertj.core.data.Offset;
import org.horovod4j.Communicator;
import org.horovod4j.ProcessSet;
import org.junit.jupiter.api.Test;

import java.util.List;

/// Two of three ranks train together, the third trains alone.
class ProcessSetIT {
    private static final int BATCH = 4;
    private static final int STEPS = 5;

    @Test
    void membersStayEqualAndOthersTrainIndependently() {
        List<float[]> weights = TestTraining.ranks(3).run(ProcessSetIT::train);
        assertThat(weights.get(0)).containsExactly(weights.get(2));
        assertThat(weights.get(0))
                .containsExactly(trainAlone(0, 2 * BATCH, 2 * BATCH), Offset.offset(1e-5f));
        assertThat(weights.get(1)).containsExactly(trainAlone(BATCH, BATCH, 2 * BATCH));
    }

    private static float[] train(Communicator comm) {
        ProcessSet pair = comm.addProcessSet(0, 2);
        int share = comm.rank() == 0 ? 0 : BATCH;
        try (TestTraining testTraining =
                new TestTraining(
                        TestTraining.network(),
                        block ->
                                DistributedOptimizer.wrap(TestTraining.sgd(), block)
                                        .communicator(comm)
                                        .processSet(pair)
                                        .overlap(true)
                                        .build(),
                        TestTraining.INPUT)) {
            for (int step = 0; step < STEPS; step++) {
                int from = step * 2 * BATCH + share;
                testTraining.pass(from, from + BATCH);
                testTraining.step();
            }
            return testTraining.weights();
        }
    }

    /// Plain DJL on `count` samples of every `stride`, beginning with `first`.
    private static float[] trainAlone(int first, int count, int stride) {
        try (TestTraining testTraining =
                new TestTraining(
                        TestTraining.network(), _ -> TestTraining.sgd(), TestTraining.INPUT)) {
            for (int step = 0; step < STEPS; step++) {
                testTraining.pass(step * stride + first, step * stride + first + count);
                testTraining.step();
            }
            return testTraining.weights();
        }
    }
}
