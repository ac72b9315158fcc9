package org.horovod4j.tensorflow.training;

import static org.assertj.core.api.Assertions.assertThat;

import org.assertj.core.data.Offset;
import org.horovod4j.Communicator;
import org.horovod4j.Hvd;
import org.horovod4j.launcher.Launcher;
import org.horovod4j.tensorflow.Adam;
import org.horovod4j.tensorflow.HvdTensorFlow;
import org.horovod4j.testsupport.TestJvm;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.tensorflow.Graph;
import org.tensorflow.Operand;
import org.tensorflow.Result;
import org.tensorflow.SavedModelBundle;
import org.tensorflow.Session;
import org.tensorflow.op.Op;
import org.tensorflow.op.Ops;
import org.tensorflow.types.TFloat32;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/// A SavedModel that a program without Horovod4J has written is trained further on two ranks, and the
/// result runs in a program without Horovod4J.
class SavedModelIT {
    private static final String MAKE =
            """
            import java.util.Map;
            import org.tensorflow.*;
            import org.tensorflow.op.Ops;
            import org.tensorflow.ndarray.Shape;
            import org.tensorflow.op.core.*;
            import org.tensorflow.types.TFloat32;

            void main(String[] arguments) {
                try (Graph graph = new Graph()) {
                    Ops tf = Ops.create(graph);
                    Placeholder<TFloat32> x =
                            tf.withName("x").placeholder(TFloat32.class, Placeholder.shape(Shape.of(-1)));
                    Variable<TFloat32> slope = tf.withName("slope").variable(tf.constant(0.5f));
                    Operand<TFloat32> y = tf.withName("y").math.mul(x, slope);
                    try (Session session = new Session(graph)) {
                        session.initialize();
                        SavedModelBundle.exporter(arguments[0])
                                .withSession(session)
                                .withSignature(Signature.builder().input("x", x).output("y", y).build())
                                .export();
                    } catch (java.io.IOException e) {
                        throw new java.io.UncheckedIOException(e);
                    }
                }
            }
            """;
    private static final String PREDICT =
            """
            import java.util.Map;
            import org.tensorflow.*;
            import org.tensorflow.types.TFloat32;

            void main(String[] arguments) {
                try {
                    Class.forName("org.horovod4j.Hvd");
                    throw new IllegalStateException("Horovod4J is on the class path");
                } catch (ClassNotFoundException _) {
                    // as it should be
                }
                try (SavedModelBundle model = SavedModelBundle.load(arguments[0]);
                        TFloat32 x = TFloat32.vectorOf(0, 1, 2);
                        Result result = model.call(Map.of("x", x))) {
                    TFloat32 y = (TFloat32) result.get("y").orElseThrow();
                    for (int i = 0; i < 3; i++) {
                        IO.println("y " + y.getFloat(i));
                    }
                }
            }
            """;

    @TempDir private Path folder;

    @Test
    void modelFromElsewhereIsTrainedAndRunsElsewhere() throws Exception {
        String made = folder.resolve("made").toString();
        String tuned = folder.resolve("tuned").toString();
        List<String> _ = runWithoutHorovod("Make.java", MAKE, made);
        List<Float> slopes =
                Launcher.processes(2)
                        .jvmOptions(TestJvm.SHORT_LIVED)
                        .run(comm -> train(comm, made, tuned));
        assertThat(slopes.get(0)).isEqualTo(slopes.get(1)).isCloseTo(3, Offset.offset(0.05f));
        List<Float> predicted =
                runWithoutHorovod("Predict.java", PREDICT, tuned).stream()
                        .filter(line -> line.startsWith("y "))
                        .map(line -> Float.parseFloat(line.substring(2)))
                        .toList();
        assertThat(predicted)
                .as("3 x + 1 to its precision, with the exported variables")
                .hasSize(3)
                .satisfies(
                        y -> {
                            assertThat(y.get(0)).isCloseTo(1, Offset.offset(0.05f));
                            assertThat(y.get(1) - y.get(0))
                                    .isCloseTo(slopes.get(0), Offset.offset(1e-5f));
                        });
    }

    @Test
    void networkWithoutVariablesIsExported() throws Exception {
        Path model = folder.resolve("fixed");
        try (Graph graph = new Graph();
                Session session = new Session(graph)) {
            Ops tf = Ops.create(graph);
            Operand<TFloat32> x = tf.placeholder(TFloat32.class);
            Operand<TFloat32> y = tf.math.mul(x, tf.constant(2f));
            SavedModelExport.write(session, Map.of("x", x), Map.of("y", y), model);
        }
        try (SavedModelBundle bundle = SavedModelBundle.load(model.toString());
                TFloat32 x = TFloat32.vectorOf(1, 2);
                Result result = bundle.call(Map.of("x", x))) {
            assertThat(((TFloat32) result.get("y").orElseThrow()).getFloat(1)).isEqualTo(4);
        }
    }

    /// Adds a height to the line, and learns both.
    private static float train(Communicator comm, String from, String to) throws IOException {
        try (SavedModelBundle bundle = SavedModelBundle.load(from)) {
            Graph graph = bundle.graph();
            Session session = bundle.session();
            Ops tf = Ops.create(graph);
            Operand<TFloat32> x = operand(graph, "x");
            Operand<TFloat32> line =
                    tf.math.add(
                            operand(graph, "y"),
                            tf.withName("height").variable(tf.constant((float) comm.rank())));
            Operand<TFloat32> target =
                    tf.math.add(tf.math.mul(x, tf.constant(3f)), tf.constant(1f));
            Operand<TFloat32> loss =
                    tf.math.mean(tf.math.squaredDifference(line, target), tf.constant(0));
            Op step = HvdTensorFlow.distributed(new Adam(graph, 0.05f)).minimize(loss);
            Op broadcast = HvdTensorFlow.broadcastGlobalVariables(graph, 0);
            session.initialize(); // what was added: the model has its variables
            assertThat(LinearModel.values(session, operand(graph, "slope"))).containsExactly(0.5f);
            session.run(broadcast);
            for (int i = 0; i < 300; i++) {
                try (TFloat32 batch = TFloat32.vectorOf(comm.rank(), 2 + comm.rank(), i % 3)) {
                    session.runner().feed(x, batch).addTarget(step).run().close();
                }
            }
            if (Hvd.rank() == 0) {
                SavedModelExport.write(session, Map.of("x", x), Map.of("y", line), Path.of(to));
            }
            return LinearModel.values(session, operand(graph, "slope"))[0];
        }
    }

    @SuppressWarnings("unchecked") // all are floats
    private static Operand<TFloat32> operand(Graph graph, String name) {
        return (Operand<TFloat32>) graph.outputOrThrow(name);
    }

    private List<String> runWithoutHorovod(String name, String source, String argument)
            throws Exception {
        Path file = Files.writeString(folder.resolve(name), source);
        Path output = folder.resolve(name + ".output");
        List<String> command = new ArrayList<>(List.of(TestJvm.JAVA));
        command.addAll(TestJvm.SHORT_LIVED);
        command.addAll(List.of("-cp", TestJvm.LIBRARIES, file.toString(), argument));
        int code =
                new ProcessBuilder(command)
                        .redirectErrorStream(true)
                        .redirectOutput(output.toFile())
                        .start()
                        .waitFor();
        List<String> lines = Files.readAllLines(output);
        assertThat(code).as("%s", lines).isZero();
        return lines;
    }
}
