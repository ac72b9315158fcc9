package org.horovod4j.djl;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.assertj.core.data.Offset;
import org.horovod4j.Communicator;
import org.horovod4j.ReduceOp;
import org.horovod4j.Tensor;
import org.junit.jupiter.api.Test;

/// Adasum combines the changes that each rank's own optimizer makes.
class AdasumIT {
    private static final int BATCH = 4;

    @Test
    void changesOfWeightsAreCombined() {
        Trial.ranks(2)
                .execute(
                        comm -> {
                            changesAreCombined(comm);
                            gradientsCannotBeSynchronized(comm);
                        });
    }

    private static Trial trial(Communicator comm) {
        return new Trial(
                Trial.network(),
                block ->
                        DistributedOptimizer.wrap(Trial.sgd(), block)
                                .communicator(comm)
                                .op(ReduceOp.ADASUM)
                                .build(),
                Trial.INPUT);
    }

    /// Against a trial that makes the same step alone, whose change is combined by hand.
    private static void changesAreCombined(Communicator comm) {
        try (Trial trial = trial(comm);
                Trial alone = new Trial(Trial.network(), _ -> Trial.sgd(), Trial.INPUT)) {
            int arrays = 0;
            for (int step = 0; step < 3; step++) {
                int from = (step * comm.size() + comm.rank()) * BATCH;
                trial.pass(from, from + BATCH);
                trial.step();
                arrays = arrays == 0 ? trial.arrayCount() : arrays;
                assertThat(trial.arrayCount()).isEqualTo(arrays);
                alone.pass(from, from + BATCH);
                float[][] starts =
                        alone.names().stream().map(alone::weight).toArray(float[][]::new);
                alone.step();
                for (int i = 0; i < starts.length; i++) {
                    String name = alone.names().get(i);
                    float[] expected = combined(comm, starts[i], alone.weight(name));
                    assertThat(trial.weight(name)).containsExactly(expected, Offset.offset(1e-5f));
                    // both go on from the same weights, each with its own momentum
                    alone.parameter(name).getArray().set(trial.weight(name));
                }
            }
            Trial.assertSameOnAllRanks(comm, trial.weights());
            assertThat(trial.optimizer().overlap().isUsed()).isFalse();
        }
    }

    private static float[] combined(Communicator comm, float[] start, float[] end) {
        int length = start.length;
        float[] change = new float[length];
        for (int i = 0; i < length; i++) {
            change[i] = end[i] - start[i];
        }
        float[] both = comm.allgather("changes", Tensor.of(change)).toFloatArray();
        double product = 0;
        double first = 0;
        double second = 0;
        for (int i = 0; i < length; i++) {
            product += (double) both[i] * both[length + i];
            first += (double) both[i] * both[i];
            second += (double) both[length + i] * both[length + i];
        }
        float[] expected = new float[length];
        for (int i = 0; i < length; i++) {
            double sum =
                    (1 - product / (2 * first)) * both[i]
                            + (1 - product / (2 * second)) * both[length + i];
            expected[i] = (float) (start[i] + sum);
        }
        return expected;
    }

    private static void gradientsCannotBeSynchronized(Communicator comm) {
        try (Trial trial = trial(comm)) {
            assertThatThrownBy(trial.optimizer()::synchronize)
                    .isInstanceOf(IllegalStateException.class)
                    .hasMessageContaining("Adasum combines the changes");
            assertThatThrownBy(trial.optimizer()::skipSynchronize)
                    .isInstanceOf(IllegalStateException.class)
                    .hasMessageContaining("skipSynchronize()");
        }
    }
}
