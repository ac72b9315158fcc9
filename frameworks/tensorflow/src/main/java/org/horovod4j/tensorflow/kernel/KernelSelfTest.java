package org.horovod4j.tensorflow.kernel;

import static java.lang.foreign.ValueLayout.JAVA_INT_UNALIGNED;
import static java.nio.charset.StandardCharsets.UTF_8;

import org.horovod4j.Shape;
import org.tensorflow.Graph;
import org.tensorflow.Output;
import org.tensorflow.Result;
import org.tensorflow.Session;
import org.tensorflow.exceptions.TensorFlowException;
import org.tensorflow.op.Ops;
import org.tensorflow.op.Scope;
import org.tensorflow.proto.ConfigProto;
import org.tensorflow.proto.DataType;
import org.tensorflow.types.TInt32;

import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/// Runs graphs with asynchronous kernels.
///
/// It runs in a process of its own: with another layout of C++ objects the process may crash, and the
/// first session of a process decides the number of threads of all others.
final class KernelSelfTest {
    private static final Duration TIMEOUT = Duration.ofMinutes(2);
    private static final int RUNS = 100;
    private static final int WAIT_SECONDS = 20;
    private static final String PASSED = "self-test passed";
    private static final String FAILED = "self-test failed: ";
    private static final String JAVACPP_PROPERTIES = "org.bytedeco.";

    private KernelSelfTest() {}

    /// Runs the test.
    ///
    /// @return why it failed; empty if it passed
    static Optional<String> runInNewProcess() {
        try {
            Path output = Files.createTempFile("hvd-self-test", ".txt");
            try {
                return runInNewProcess(output);
            } finally {
                Files.delete(output);
            }
        } catch (IOException e) {
            return Optional.of("it cannot be started: " + e.getMessage());
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            return Optional.of("it was interrupted");
        }
    }

    private static Optional<String> runInNewProcess(Path output)
            throws IOException, InterruptedException {
        Process process =
                new ProcessBuilder(command())
                        .redirectErrorStream(true)
                        .redirectOutput(output.toFile())
                        .start();
        try {
            process.getOutputStream().close();
            return process.waitFor(TIMEOUT)
                    ? outcome(process.exitValue(), new String(Files.readAllBytes(output), UTF_8))
                    : Optional.of("it does not end");
        } finally {
            process.destroyForcibly();
        }
    }

    private static List<String> command() {
        List<String> command =
                new ArrayList<>(
                        List.of(
                                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                                "-XX:+UseSerialGC",
                                "-XX:TieredStopAtLevel=1",
                                "-XX:ErrorFile=/dev/null", // a crash is an answer
                                "-XX:-CreateCoredumpOnCrash",
                                "--enable-native-access=ALL-UNNAMED",
                                "--sun-misc-unsafe-memory-access=allow"));
        // for example the folder to which JavaCPP extracts TensorFlow
        System.getProperties().stringPropertyNames().stream()
                .filter(name -> name.startsWith(JAVACPP_PROPERTIES))
                .forEach(name -> command.add("-D%s=%s".formatted(name, System.getProperty(name))));
        command.add("-cp");
        command.add(
                Stream.of("java.class.path", "jdk.module.path")
                        .map(property -> System.getProperty(property, ""))
                        .filter(path -> !path.isEmpty())
                        .collect(Collectors.joining(File.pathSeparator)));
        command.add(KernelSelfTest.class.getName());
        return command;
    }

    private static Optional<String> outcome(int exitCode, String output) {
        if (exitCode == 0 && output.contains(PASSED)) {
            return Optional.empty();
        }
        return Optional.of(
                output.lines()
                        .filter(line -> line.startsWith(FAILED))
                        .findFirst()
                        .map(line -> line.substring(FAILED.length()))
                        .orElseGet(
                                () ->
                                        "its process ended with exit code %d%s"
                                                .formatted(exitCode, exception(output))));
    }

    /// The exception that ended the process, in a form for the end of a message.
    private static String exception(String output) {
        return output.lines()
                .filter(line -> line.startsWith("Exception in thread"))
                .findFirst()
                .map(line -> " (%s)".formatted(line))
                .orElse("");
    }

    public static void main(String[] arguments) {
        KernelMode mode =
                OpKernels.register(
                                new KernelChoice(KernelMode.ASYNC, "self-test"),
                                OpKernels.loadedLibrary())
                        .mode();
        Optional<String> problem =
                mode == KernelMode.ASYNC ? run() : Optional.of(OpKernels.get().choice().reason());
        problem.ifPresentOrElse(text -> IO.println(FAILED + text), () -> IO.println(PASSED));
        System.exit(problem.isEmpty() ? 0 : 1);
    }

    /// Two nodes that end together, on one thread: neither may block it.
    private static Optional<String> run() {
        ConfigProto oneThread =
                ConfigProto.newBuilder()
                        .setInterOpParallelismThreads(1)
                        .setIntraOpParallelismThreads(1)
                        .build();
        try (Graph graph = new Graph();
                Session session = new Session(graph, oneThread)) {
            Ops tf = Ops.create(graph);
            for (int i = 0; i < RUNS; i++) {
                Optional<String> problem = runTwoNodes(session, tf.withSubScope("run" + i), i);
                if (problem.isPresent()) {
                    return problem;
                }
            }
            return runFailingNode(session, tf);
        } catch (TensorFlowException e) {
            return Optional.of("a run failed: " + e.getMessage());
        }
    }

    /// Waits for the start of two nodes and ends them, the second one first.
    private static final class TwoNodes {
        private final List<Execution> started = new ArrayList<>();
        private final CountDownLatch left = new CountDownLatch(2);
        private volatile boolean wasBlocked;

        private synchronized void add(Execution execution) {
            started.add(execution);
            left.countDown();
        }

        private void end() {
            boolean interrupted = false;
            try {
                wasBlocked = !left.await(WAIT_SECONDS, TimeUnit.SECONDS);
            } catch (InterruptedException _) {
                interrupted = true;
            }
            synchronized (this) {
                started.reversed().forEach(KernelSelfTest::completeNode);
            }
            if (interrupted) {
                Thread.currentThread().interrupt();
            }
        }
    }

    private static void completeNode(Execution execution) {
        execution
                .output(0, org.horovod4j.DataType.INT32, Shape.SCALAR)
                .segment()
                .set(JAVA_INT_UNALIGNED, 0, 7);
        execution.complete();
    }

    private static Optional<String> runTwoNodes(Session session, Ops tf, int run) {
        TwoNodes nodes = new TwoNodes();
        NodeFunction function = (_, execution) -> nodes.add(execution);
        List<Output<?>> outputs =
                List.of(addNode(tf.scope(), function), addNode(tf.scope(), function));
        Thread end = Thread.ofPlatform().daemon().name("self-test").start(nodes::end);
        Session.Runner runner = session.runner();
        outputs.forEach(runner::fetch);
        try (Result result = runner.run()) {
            end.join();
            if (nodes.wasBlocked) {
                return Optional.of("a kernel blocks a thread");
            }
            for (int i = 0; i < outputs.size(); i++) {
                int value = ((TInt32) result.get(i)).getInt();
                if (value != 7) {
                    return Optional.of("run %d has the output %d".formatted(run, value));
                }
            }
            return Optional.empty();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            return Optional.of("it was interrupted");
        }
    }

    private static Optional<String> runFailingNode(Session session, Ops tf) {
        String text = "a failure on purpose";
        Output<?> output =
                addNode(
                        tf.scope(),
                        (_, _) -> {
                            throw new IllegalStateException(text);
                        });
        try (Result _ = session.runner().fetch(output).run()) {
            return Optional.of("a failed node did not fail its run");
        } catch (TensorFlowException e) {
            String message = String.valueOf(e.getMessage());
            return message.contains(text)
                    ? Optional.empty()
                    : Optional.of("a failed node ended its run with: " + message);
        }
    }

    private static Output<?> addNode(Scope scope, NodeFunction function) {
        return new Node(
                        scope,
                        OpType.SCALAR,
                        "node",
                        List.of(),
                        List.of(DataType.DT_INT32),
                        function)
                .add()
                .getFirst();
    }
}
