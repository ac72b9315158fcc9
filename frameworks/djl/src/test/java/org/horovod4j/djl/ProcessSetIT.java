package org.horovod4j.djl;

import static org.assertj.core.api.Assertions.assertThat;

import org.assertj.core.data.Offset;
import org.horovod4j.Communicator;
import org.horovod4j.ProcessSet;
import org.junit.jupiter.api.Test;

import java.util.List;

/// Two of three ranks train together, the third by itself.
class ProcessSetIT {
    private static final int BATCH = 4;
    private static final int STEPS = 5;

    @Test
    void membersStayEqualAndOthersGoTheirOwnWay() {
        List<float[]> weights = Trial.ranks(3).run(ProcessSetIT::train);
        assertThat(weights.get(0)).containsExactly(weights.get(2));
        assertThat(weights.get(0))
                .containsExactly(alone(0, 2 * BATCH, 2 * BATCH), Offset.offset(1e-5f));
        assertThat(weights.get(1)).containsExactly(alone(BATCH, BATCH, 2 * BATCH));
    }

    private static float[] train(Communicator comm) {
        ProcessSet pair = comm.addProcessSet(0, 2);
        int share = comm.rank() == 0 ? 0 : BATCH;
        try (Trial trial =
                new Trial(
                        Trial.network(),
                        block ->
                                DistributedOptimizer.wrap(Trial.sgd(), block)
                                        .communicator(comm)
                                        .processSet(pair)
                                        .overlap(true)
                                        .build(),
                        Trial.INPUT)) {
            for (int step = 0; step < STEPS; step++) {
                int from = step * 2 * BATCH + share;
                trial.pass(from, from + BATCH);
                trial.step();
            }
            return trial.weights();
        }
    }

    /// Plain DJL on `count` samples of every `stride`, from `first` on.
    private static float[] alone(int first, int count, int stride) {
        try (Trial trial = new Trial(Trial.network(), _ -> Trial.sgd(), Trial.INPUT)) {
            for (int step = 0; step < STEPS; step++) {
                trial.pass(step * stride + first, step * stride + first + count);
                trial.step();
            }
            return trial.weights();
        }
    }
}
