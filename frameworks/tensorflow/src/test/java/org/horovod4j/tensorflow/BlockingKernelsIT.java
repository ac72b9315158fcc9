package org.horovod4j.tensorflow;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import static java.nio.charset.StandardCharsets.UTF_8;

import org.horovod4j.Communicator;
import org.horovod4j.ReduceOp;
import org.horovod4j.launcher.Launcher;
import org.horovod4j.testsupport.TestJvm;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.tensorflow.Graph;
import org.tensorflow.Operand;
import org.tensorflow.Output;
import org.tensorflow.Result;
import org.tensorflow.Session;
import org.tensorflow.exceptions.TensorFlowException;
import org.tensorflow.ndarray.Shape;
import org.tensorflow.op.Ops;
import org.tensorflow.op.core.Placeholder;
import org.tensorflow.proto.ConfigProto;
import org.tensorflow.types.TFloat32;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Optional;

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

    /// Each rank waits for collectives that the other one starts later.
    @ParameterizedTest(name = "{0} inter-op threads")
    @ValueSource(ints = {1, 2})
    void ranksMayStartCollectivesInAnyOrder(int threads) {
        Launcher.processes(2)
                .jvmOptions(TestJvm.SHORT_LIVED)
                .environment(Map.of("OMP_NUM_THREADS", Integer.toString(threads)))
                .options(Map.of("HOROVOD_TENSORFLOW_KERNELS", "blocking"))
                .execute(comm -> runInOppositeOrders(comm, Optional.empty()));
    }

    /// TensorFlow would wait forever.
    @Test
    @Tag("slow")
    void sessionWithTooFewThreadsIsReported() {
        List<String> lines = Collections.synchronizedList(new ArrayList<>());
        assertThatThrownBy(
                        () ->
                                Launcher.processes(2)
                                        .jvmOptions(TestJvm.SHORT_LIVED)
                                        .output(lines::add)
                                        .options(
                                                Map.of(
                                                        "HOROVOD_TENSORFLOW_KERNELS", "blocking",
                                                        "HOROVOD_STALL_CHECK_TIME_SECONDS", "5",
                                                        "HOROVOD_STALL_SHUTDOWN_TIME_SECONDS",
                                                                "40"))
                                        .execute(
                                                comm ->
                                                        runInOppositeOrders(
                                                                comm,
                                                                Optional.of(
                                                                        ConfigProto.newBuilder()
                                                                                .setInterOpParallelismThreads(
                                                                                        1)
                                                                                .build()))))
                .hasMessageContaining("stalled for longer than");
        assertThat(lines)
                .anyMatch(line -> line.contains("has blocked a thread of TensorFlow for 10 s"));
    }

    /// Of two sums, rank 0 submits the first one first, and the other rank the second one.
    ///
    /// @param config that of [HvdTensorFlow#config] if empty
    private static void runInOppositeOrders(Communicator comm, Optional<ConfigProto> config) {
        try (Graph graph = new Graph()) {
            Ops tf = Ops.create(graph);
            HvdOps hvd = HvdTensorFlow.ops(tf);
            Placeholder<TFloat32> slow = tf.placeholder(TFloat32.class);
            Operand<TFloat32> late =
                    tf.reduceSum(tf.linalg.matMul(slow, slow), tf.constant(new int[] {0, 1}));
            Operand<TFloat32> early = tf.constant(2f);
            boolean isFirstEarly = comm.rank() == 0;
            List<Output<TFloat32>> sums = new ArrayList<>();
            for (int i = 0; i < 4; i++) {
                Operand<TFloat32> input = (i < 2) == isFirstEarly ? early : late;
                sums.add(hvd.withName("sum" + i).allreduce(input, ReduceOp.SUM));
            }
            try (Session session = new Session(graph, config.orElseGet(HvdTensorFlow::config));
                    TFloat32 ones = TFloat32.tensorOf(Shape.of(1500, 1500))) {
                for (int run = 0; run < 5; run++) {
                    Session.Runner runner = session.runner().feed(slow, ones);
                    sums.forEach(runner::fetch);
                    try (Result result = runner.run()) {
                        for (int i = 0; i < sums.size(); i++) {
                            assertThat(((TFloat32) result.get(i)).getFloat()).isEqualTo(2f);
                        }
                    }
                }
            }
        }
    }
}
