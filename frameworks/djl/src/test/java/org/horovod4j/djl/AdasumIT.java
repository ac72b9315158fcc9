package org.horovod4j.djl;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.assertj.core.data.Offset;
import org.horovod4j.Communicator;
import org.horovod4j.ReduceOp;
import org.horovod4j.Tensor;
import org.junit.jupiter.api.Test;

/// Adasum reduces the changes of weights by the optimizer of each rank.
class AdasumIT {
    private static final int BATCH = 4;

    @Test
    void weightChangesAreCombined() {
        TestTraining.ranks(2)
                .execute(
                        comm -> {
                            assertWeightChangesAreCombined(comm);
                            gradientsCannotBeSynchronized(comm);
                        });
    }

    private static TestTraining trial(Communicator comm) {
        return new TestTraining(
                TestTraining.network(),
                block ->
                        DistributedOptimizer.wrap(TestTraining.sgd(), block)
                                .communicator(comm)
                                .op(ReduceOp.ADASUM)
                                .build(),
                TestTraining.INPUT);
    }

    /// Compared with a training on one rank whose change of weights is combined by hand.
    private static void assertWeightChangesAreCombined(Communicator comm) {
        try (TestTraining testTraining = trial(comm);
                TestTraining alone =
                        new TestTraining(
                                TestTraining.network(),
                                _ -> TestTraining.sgd(),
                                TestTraining.INPUT)) {
            int arrays = 0;
            for (int step = 0; step < 3; step++) {
                int from = (step * comm.size() + comm.rank()) * BATCH;
                testTraining.pass(from, from + BATCH);
                testTraining.step();
                arrays = arrays == 0 ? testTraining.arrayCount() : arrays;
                assertThat(testTraining.arrayCount()).isEqualTo(arrays);
                alone.pass(from, from + BATCH);
                float[][] starts =
                        alone.names().stream().map(alone::weight).toArray(float[][]::new);
                alone.step();
                for (int i = 0; i < starts.length; i++) {
                    String name = alone.names().get(i);
                    float[] expected = combined(comm, starts[i], alone.weight(name));
                    assertThat(testTraining.weight(name))
                            .containsExactly(expected, Offset.offset(1e-5f));
                    // both continue with the same weights, each with its own momentum
                    alone.parameter(name).getArray().set(testTraining.weight(name));
                }
            }
            TestTraining.assertSameOnAllRanks(comm, testTraining.weights());
            assertThat(testTraining.optimizer().overlap().isUsed()).isFalse();
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
        try (TestTraining testTraining = trial(comm)) {
            assertThatThrownBy(testTraining.optimizer()::synchronize)
                    .isInstanceOf(IllegalStateException.class)
                    .hasMessageContaining("Adasum reduces changes of weights");
            assertThatThrownBy(testTraining.optimizer()::skipSynchronize)
                    .isInstanceOf(IllegalStateException.class)
                    .hasMessageContaining("skipSynchronize()");
        }
    }
}
