package org.horovod4j.tensorflow;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.awaitility.Awaitility;
import org.horovod4j.Communicator;
import org.horovod4j.ReduceOp;
import org.horovod4j.launcher.LaunchException;
import org.horovod4j.launcher.Launcher;
import org.horovod4j.testing.World;
import org.horovod4j.testsupport.TestJvm;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.tensorflow.Graph;
import org.tensorflow.Operand;
import org.tensorflow.Output;
import org.tensorflow.Result;
import org.tensorflow.Session;
import org.tensorflow.op.Ops;
import org.tensorflow.proto.GraphDef;
import org.tensorflow.types.TFloat32;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Map;

/// What two processes say about wrong programs.
class WrongUseIT {
    @TempDir Path folder;

    @Test
    void reportOfAStallNamesTheNodesThatEachRankRuns() {
        String path = folder.toString();
        assertThatThrownBy(
                        () ->
                                Launcher.processes(2)
                                        .jvmOptions(TestJvm.SHORT_LIVED)
                                        .options(
                                                Map.of(
                                                        "HOROVOD_STALL_CHECK_TIME_SECONDS", "1",
                                                        "HOROVOD_STALL_SHUTDOWN_TIME_SECONDS",
                                                                "15"))
                                        .execute(comm -> runDifferentGraphs(comm, Path.of(path))))
                .isInstanceOf(LaunchException.class)
                .message()
                .as("by the rank that was the first to report it")
                .containsPattern(
                        "allreduce of 'sum_of_rank_(\\d)' has waited.*\\R"
                                + " *rank (?!\\1)\\d has in flight"
                                + " allreduce of 'sum_of_rank_(?!\\1)\\d'");
    }

    private static void runDifferentGraphs(Communicator comm, Path folder) throws IOException {
        try (GraphRun graph = new GraphRun(comm)) {
            assertThat(graph.floats(graph.tf.constant(1f)).getFirst()).containsExactly(1);
            awaitOtherRank(comm, folder);
            Output<TFloat32> sum =
                    graph.hvd
                            .withName("sum_of_rank_" + comm.rank())
                            .allreduce(graph.tf.constant(new float[] {1}), ReduceOp.SUM);
            graph.floats(sum);
        }
    }

    /// TensorFlow may start later on one rank. A barrier would be part of the stall, so this uses
    /// files.
    private static void awaitOtherRank(Communicator comm, Path folder) throws IOException {
        Files.createFile(folder.resolve("rank" + comm.rank()));
        Path other = folder.resolve("rank" + (1 - comm.rank()));
        Awaitility.await().atMost(Duration.ofMinutes(1)).until(() -> Files.exists(other));
    }

    @Test
    void opsMayBeAddedToAGraphThatHasRunAndNotCopiedToAnotherProcess() throws IOException {
        Path file = folder.resolve("graph");
        World.run(
                1,
                comm -> {
                    try (GraphRun graph = new GraphRun(comm)) {
                        Operand<TFloat32> input = graph.tf.constant(new float[] {1});
                        Output<TFloat32> _ =
                                graph.hvd.withName("copied").allreduce(input, ReduceOp.MAX);
                        Files.write(file, graph.graph.toGraphDef().toByteArray());
                    }
                });
        String path = file.toString();
        Launcher.processes(2)
                .jvmOptions(TestJvm.SHORT_LIVED)
                .execute(comm -> addOpsLate(comm, Path.of(path)));
    }

    private static void addOpsLate(Communicator comm, Path file) throws IOException {
        GraphDef copy = GraphDef.parseFrom(Files.readAllBytes(file));
        try (Graph graph = new Graph();
                Session session = new Session(graph)) {
            Ops tf = Ops.create(graph);
            Operand<TFloat32> own = tf.constant(comm.rank() + 1f);
            try (Result result = session.runner().fetch(own).run()) {
                assertThat(((TFloat32) result.get(0)).getFloat()).isEqualTo(comm.rank() + 1f);
            }
            assertThatThrownBy(() -> graph.importGraphDef(copy, "before"))
                    .hasMessageContaining("Horovod4jAllreduce");
            Output<TFloat32> sum = HvdTensorFlow.ops(tf).allreduce(own, ReduceOp.SUM);
            try (Result result = session.runner().fetch(sum).run()) {
                assertThat(((TFloat32) result.get(0)).getFloat()).isEqualTo(3);
            }
            graph.importGraphDef(copy, "after");
            assertThatThrownBy(() -> session.runner().fetch("after/copied").run())
                    .hasMessageContaining("was built in another process")
                    .hasMessageContaining("build it with HvdTensorFlow");
        }
    }
}
