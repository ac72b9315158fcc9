package org.horovod4j.tensorflow;

import static org.assertj.core.api.Assertions.assertThat;

import org.horovod4j.Communicator;
import org.horovod4j.ReduceOp;
import org.horovod4j.launcher.Launcher;
import org.horovod4j.testsupport.TestJvm;
import org.junit.jupiter.api.Test;
import org.tensorflow.Operand;
import org.tensorflow.Output;
import org.tensorflow.types.TFloat32;

import java.util.ArrayList;
import java.util.List;

/// Ops in graphs of two processes.
class HvdOpsIT {
    @Test
    void processesReduceBroadcastAndGather() {
        Launcher.processes(2).jvmOptions(TestJvm.SHORT_LIVED).execute(HvdOpsIT::useOps);
    }

    private static void useOps(Communicator comm) {
        try (GraphRun graph = new GraphRun(comm)) {
            List<Operand<TFloat32>> sums = new ArrayList<>();
            for (int i = 0; i < 50; i++) {
                sums.add(
                        graph.hvd.allreduce(
                                graph.tf.constant(new float[] {comm.rank(), i}), ReduceOp.SUM));
            }
            for (int step = 0; step < 50; step++) {
                List<float[]> values = graph.floats(sums.toArray(Operand<?>[]::new));
                for (int i = 0; i < 50; i++) {
                    assertThat(values.get(i)).containsExactly(1, 2 * i);
                }
            }
            Operand<TFloat32> own = graph.tf.constant(new float[] {comm.rank()});
            Output<TFloat32> first = graph.hvd.broadcast(own, 1);
            Output<TFloat32> all = graph.hvd.allgather(own);
            List<float[]> values = graph.floats(first, all);
            assertThat(values.get(0)).containsExactly(1);
            assertThat(values.get(1)).containsExactly(0, 1);
        }
    }
}
