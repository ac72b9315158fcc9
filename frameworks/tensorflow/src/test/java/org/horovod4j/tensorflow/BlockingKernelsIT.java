package org.horovod4j.tensorflow;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.horovod4j.Communicator;
import org.horovod4j.Hvd;
import org.horovod4j.ReduceOp;
import org.horovod4j.launcher.Launcher;
import org.horovod4j.testsupport.TestJvm;
import org.junit.jupiter.api.Test;
import org.tensorflow.Operand;
import org.tensorflow.Output;
import org.tensorflow.exceptions.TensorFlowException;
import org.tensorflow.proto.ConfigProto;
import org.tensorflow.types.TFloat32;

import java.util.List;
import java.util.Map;

/// Ops that block threads of TensorFlow, in two processes with one thread each.
class BlockingKernelsIT {
    private static final ConfigProto ONE_THREAD =
            ConfigProto.newBuilder()
                    .setInterOpParallelismThreads(1)
                    .setUsePerSessionThreads(true)
                    .build();

    @Test
    void twoProcessesTrainAndUseOps() {
        List<float[]> values =
                Launcher.processes(2)
                        .jvmOptions(TestJvm.SHORT_LIVED)
                        .options(Map.of("HOROVOD_TENSORFLOW_KERNELS", "blocking"))
                        .run(BlockingKernelsIT::train);
        assertThat(values.get(0)).containsExactly(values.get(1));
    }

    private static float[] train(Communicator comm) {
        useOps(comm);
        try (SmallTraining training =
                new SmallTraining(
                        graph -> HvdTensorFlow.distributed(new Adam(graph, 0.001f * Hvd.size())),
                        ONE_THREAD)) {
            assertThat(training.graph.toGraphDef().toString())
                    .contains("Horovod4jAllreduceStart", "Horovod4jAllreduceWait");
            training.session.run(HvdTensorFlow.broadcastGlobalVariables(training.graph, 0));
            for (int i = 0; i < 200; i++) {
                training.step(4 * (2 * i + comm.rank()), 4 * (2 * i + comm.rank() + 1));
            }
            return training.values();
        }
    }

    private static void useOps(Communicator comm) {
        try (GraphRun graph = new GraphRun(comm)) {
            Operand<TFloat32> own = graph.tf.constant(new float[] {comm.rank()});
            Output<TFloat32> sum = graph.hvd.allreduce(own, ReduceOp.SUM);
            Output<TFloat32> all = graph.hvd.allgather(own);
            assertThat(graph.floats(sum).getFirst()).containsExactly(1);
            assertThat(graph.floats(all).getFirst()).containsExactly(0, 1);
            assertThat(all.shape().asArray()).containsExactly(-1);
            assertThat(graph.ints(graph.hvd.rank())).containsExactly(comm.rank());
            Output<?>[] gradients = graph.graph.addGradients(sum, new Output<?>[] {own.asOutput()});
            assertThat(graph.floats(gradients[0]).getFirst()).containsExactly(2);
            Output<TFloat32> wrong =
                    graph.hvd
                            .withName("wrong")
                            .allreduce(graph.tf.constant(new float[1 + comm.rank()]), ReduceOp.SUM);
            assertThatThrownBy(() -> graph.floats(wrong))
                    .isInstanceOf(TensorFlowException.class)
                    .hasMessageContaining("allreduce of 'wrong'");
            assertThat(graph.floats(sum).getFirst()).containsExactly(1);
        }
    }
}
