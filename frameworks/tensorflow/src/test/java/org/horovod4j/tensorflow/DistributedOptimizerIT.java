package org.horovod4j.tensorflow;

import static org.assertj.core.api.Assertions.assertThat;

import org.assertj.core.data.Offset;
import org.horovod4j.Communicator;
import org.horovod4j.Hvd;
import org.horovod4j.launcher.Launcher;
import org.horovod4j.testsupport.TestJvm;
import org.junit.jupiter.api.Test;

import java.util.List;

/// Two processes that use `Hvd`, as programs do.
class DistributedOptimizerIT {
    private static final int BATCH = 4;
    private static final int STEPS = 200;

    @Test
    void twoProcessesTrainAsOneWithBothBatches() {
        List<float[]> values =
                Launcher.processes(2)
                        .jvmOptions(TestJvm.SHORT_LIVED)
                        .run(DistributedOptimizerIT::train);
        assertThat(values.get(0)).containsExactly(values.get(1));
        try (SmallTraining alone = new SmallTraining(graph -> new Adam(graph, 0.002f))) {
            for (int i = 0; i < STEPS; i++) {
                alone.step(i * 2 * BATCH, (i + 1) * 2 * BATCH);
            }
            assertThat(values.get(0)).containsExactly(alone.values(), Offset.offset(1e-3f));
        }
    }

    private static float[] train(Communicator comm) {
        assertThat(Hvd.communicator().rank()).isEqualTo(comm.rank());
        try (SmallTraining training =
                new SmallTraining(
                        graph -> HvdTensorFlow.distributed(new Adam(graph, 0.001f * Hvd.size())))) {
            training.session.run(HvdTensorFlow.broadcastGlobalVariables(training.graph, 0));
            for (int i = 0; i < STEPS; i++) {
                int from = (i * 2 + comm.rank()) * BATCH;
                training.step(from, from + BATCH);
            }
            return training.values();
        }
    }
}
