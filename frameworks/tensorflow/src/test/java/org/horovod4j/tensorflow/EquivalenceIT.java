package org.horovod4j.tensorflow;

import static org.assertj.core.api.Assertions.assertThat;

import org.assertj.core.data.Offset;
import org.horovod4j.Communicator;
import org.horovod4j.Hvd;
import org.horovod4j.launcher.Launcher;
import org.horovod4j.testsupport.SlowCases;
import org.horovod4j.testsupport.TestJvm;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.tensorflow.proto.ConfigProto;

import java.util.List;
import java.util.Map;

/// Two processes with a batch each train as one process with both batches.
///
/// 0 inter-op threads are TensorFlow's default.
class EquivalenceIT {
    private static final int BATCH = 8;
    private static final int STEPS = 200;
    private static final int RUNS = 20;
    private static final float LEARNING_RATE = 0.001f;
    private static final Offset<Float> CLOSE = Offset.offset(1e-4f);

    /// What a rank returns.
    ///
    /// @param losses of its batch, before each step
    /// @param variables after the last step
    @SuppressWarnings("ArrayRecordComponent") // tests compare the arrays, not the record
    private record Training(float[] losses, float[] variables) {}

    @ParameterizedTest(name = "{0} kernels, {1} inter-op threads")
    @CsvSource({"async, 0", "blocking, 1"})
    @SlowCases({"async, 1", "blocking, 0"})
    void twoRanksTrainAsOneProcess(String kernels, int threads) {
        assertEquivalent(kernels, threads, alone());
    }

    @ParameterizedTest(name = "{0} kernels, {1} inter-op threads")
    @Tag("slow")
    @CsvSource({"async, 0", "async, 1", "blocking, 0", "blocking, 1"})
    void everyRunTrainsAsOneProcess(String kernels, int threads) {
        Training alone = alone();
        for (int run = 0; run < RUNS; run++) {
            assertEquivalent(kernels, threads, alone);
        }
    }

    private static void assertEquivalent(String kernels, int threads, Training alone) {
        List<Training> ranks =
                Launcher.processes(2)
                        .jvmOptions(TestJvm.SHORT_LIVED)
                        .options(Map.of("HOROVOD_TENSORFLOW_KERNELS", kernels))
                        .run(comm -> train(comm, kernels, threads));

        Training first = ranks.getFirst();
        Training second = ranks.getLast();
        assertThat(first.variables).as("bits of variables").containsExactly(second.variables);
        assertThat(first.variables).containsExactly(alone.variables, CLOSE);
        for (int i = 0; i < STEPS; i++) {
            assertThat((first.losses[i] + second.losses[i]) / 2)
                    .as("loss before step %d", i)
                    .isCloseTo(alone.losses[i], CLOSE);
        }
        assertThat(alone.losses[STEPS - 1]).isLessThan(alone.losses[0] / 2);
    }

    private static Training train(Communicator comm, String kernels, int threads) {
        ConfigProto config = ConfigProto.newBuilder().setInterOpParallelismThreads(threads).build();
        try (ImageTraining training =
                new ImageTraining(
                        8,
                        4,
                        graph ->
                                HvdTensorFlow.distributed(
                                        new Adam(graph, LEARNING_RATE / 2 * Hvd.size())),
                        config)) {
            assertThat(training.has("Horovod4jAllreduceWait"))
                    .isEqualTo(kernels.equals("blocking"));
            training.broadcast();
            float[] losses = new float[STEPS];
            for (int i = 0; i < STEPS; i++) {
                int from = (2 * i + comm.rank()) * BATCH;
                losses[i] = training.step(from, from + BATCH);
            }
            return new Training(losses, training.values());
        }
    }

    private static Training alone() {
        try (ImageTraining training =
                new ImageTraining(
                        8,
                        4,
                        graph -> new Adam(graph, LEARNING_RATE),
                        ConfigProto.getDefaultInstance())) {
            float[] losses = new float[STEPS];
            for (int i = 0; i < STEPS; i++) {
                losses[i] = training.step(2 * i * BATCH, (2 * i + 2) * BATCH);
            }
            return new Training(losses, training.values());
        }
    }
}
