package org.horovod4j.tensorflow;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import static java.nio.charset.StandardCharsets.UTF_8;

import org.horovod4j.Communicator;
import org.horovod4j.ReduceOp;
import org.horovod4j.launcher.Launcher;
import org.horovod4j.testsupport.TestJvm;
import org.junit.jupiter.api.Test;
import org.tensorflow.Graph;
import org.tensorflow.Operand;
import org.tensorflow.Output;
import org.tensorflow.exceptions.TensorFlowException;
import org.tensorflow.op.Ops;
import org.tensorflow.types.TFloat32;

import java.util.Map;

/// Ops that block threads of TensorFlow, in two processes.
class BlockingKernelsIT {
    @Test
    void twoProcessesUseOps() {
        Launcher.processes(2)
                .jvmOptions(TestJvm.SHORT_LIVED)
                .options(Map.of("HOROVOD_TENSORFLOW_KERNELS", "blocking"))
                .execute(BlockingKernelsIT::useOps);
    }

    /// As in elastic jobs.
    @Test
    void optionHoldsForAGraphThatIsBuiltBeforeInit() throws Exception {
        ProcessBuilder builder =
                new ProcessBuilder(
                        TestJvm.of(BuildsBeforeInit.class)
                                .withVectors()
                                .with("--sun-misc-unsafe-memory-access=allow")
                                .shortLived()
                                .words());
        builder.environment().put("HOROVOD_TENSORFLOW_KERNELS", "blocking");
        Process process = builder.redirectError(ProcessBuilder.Redirect.INHERIT).start();
        String output = new String(process.getInputStream().readAllBytes(), UTF_8);
        assertThat(process.waitFor()).as(output).isZero();
        assertThat(output).contains("Horovod4jAllreduceStart");
    }

    static final class BuildsBeforeInit {
        private BuildsBeforeInit() {}

        public static void main(String[] arguments) {
            try (Graph graph = new Graph()) {
                Ops tf = Ops.create(graph);
                Output<TFloat32> _ = HvdTensorFlow.ops(tf).allreduce(tf.constant(1f), ReduceOp.SUM);
                graph.toGraphDef().getNodeList().forEach(node -> IO.println(node.getOp()));
            }
        }
    }

    private static void useOps(Communicator comm) {
        try (GraphRun graph = new GraphRun(comm)) {
            Operand<TFloat32> own = graph.tf.constant(new float[] {comm.rank()});
            Output<TFloat32> sum = graph.hvd.allreduce(own, ReduceOp.SUM);
            Output<TFloat32> all = graph.hvd.allgather(own);
            assertThat(graph.graph.toGraphDef().toString())
                    .contains("Horovod4jAllreduceStart", "Horovod4jAllreduceWait");
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
