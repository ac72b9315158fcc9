package org.horovod4j.spark;

import org.apache.spark.SparkEnv;
import org.horovod4j.codec.ObjectCodec;
import org.horovod4j.launcher.function.FunctionFailure;
import org.horovod4j.launcher.function.LineOutputStream;
import org.horovod4j.launcher.function.RankCommand;
import org.horovod4j.launcher.process.ExitStatus;
import org.horovod4j.launcher.process.OutputReader;
import org.horovod4j.log.Log;
import org.jspecify.annotations.Nullable;

import scala.Tuple2;

import java.io.File;
import java.io.IOException;
import java.io.InputStream;
import java.io.ObjectInputStream;
import java.io.ObjectOutputStream;
import java.io.ObjectStreamClass;
import java.io.Serializable;
import java.io.UncheckedIOException;
import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.net.URISyntaxException;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.Iterator;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.function.Consumer;

/// A rank in a process of its own, which the executor starts: for frameworks of which a JVM can hold
/// one rank only.
///
/// The process gets the function, the settings, with the secret, and those of Hadoop, which may have
/// keys, over its standard input. That stays open: when it ends, the executor is gone and the process
/// ends too. It leaves the result in a file that only this user can read. If the function has failed,
/// the process stays in the job until a byte on its standard input says that the failure is reported, or
/// for some seconds. Both ends are JVMs of one user on one host, so this is no channel by which others
/// could send objects.
final class ProcessRank implements RankRunner {
    /// The name of this property tells a process from an executor.
    private static final String PREFIX = "hvd-spark-";

    private static final Logger LOGGER = Log.of(ProcessRank.class);

    /// The name of the file of a result while it is written.
    static final String INCOMPLETE = "incomplete";

    private static final String HADOOP_SETTINGS = "spark.hadoop.";

    /// What a JVM prints about options of ours and of Spark.
    private static final Set<String> JVM_WARNINGS =
            Set.of(
                    "WARNING: Using incubator modules: jdk.incubator.vector",
                    "WARNING: package sun.security.action not in java.base");

    /// The size of a pipe on Linux.
    private static final int CHUNK = 1 << 16;

    /// How often the executor looks for the file of the result.
    private static final Duration POLL_INTERVAL = Duration.ofMillis(100);

    private final JvmOptions jvmOptions;
    private final TaskOutput output;
    private final Consumer<Throwable> failureReport;
    private @Nullable Process process;
    private @Nullable String abortReason;

    /// @param failureReport called with what the function throws, before the other ranks learn of
    ///     it
    ProcessRank(JvmOptions jvmOptions, TaskOutput output, Consumer<Throwable> failureReport) {
        this.jvmOptions = jvmOptions;
        this.output = output;
        this.failureReport = failureReport;
    }

    /// Options of the JVM of a process.
    record JvmOptions(List<String> words) implements Serializable {
        JvmOptions {
            words = List.copyOf(words);
        }
    }

    /// How a process ended.
    ///
    /// @param failure encoded by [ObjectCodec]; null if it returned
    @SuppressWarnings("ArrayRecordComponent") // never compared
    record Outcome(@Nullable Result result, byte @Nullable [] failure) implements Serializable {
        /// What the function threw; null if it returned.
        @Nullable Exception thrown() {
            if (failure == null) {
                return null;
            }
            FunctionFailure decoded =
                    (FunctionFailure)
                            new ObjectCodec(FunctionFailure.class.getClassLoader()).decode(failure);
            if (decoded == null) {
                return new IllegalStateException(
                        "the function threw, and the process did not say what");
            }
            Throwable thrown =
                    decoded.thrown().restore(Thread.currentThread().getContextClassLoader());
            return thrown instanceof Exception exception
                    ? exception
                    : new IllegalStateException(thrown.toString(), thrown);
        }
    }

    @Override
    public Result run(TaskMessage.Start start, RankBody body, Iterator<?> rows) throws Exception {
        Path file = Files.createTempDirectory(PREFIX).resolve("result");
        try {
            Process started = start();
            use(started);
            List<OutputReader> readers =
                    List.of(
                            forward(started.getInputStream(), false),
                            forward(started.getErrorStream(), true));
            @Nullable Outcome outcome;
            try {
                send(started, start, body, file);
                outcome = awaitOutcome(started, file);
                started.waitFor();
            } finally {
                kill(started);
            }
            long beginNanos = System.nanoTime();
            for (OutputReader reader : readers) {
                // A process that the function has left behind may hold the pipe open.
                boolean _ = reader.awaitEnd(OutputReader.IDLE_TIMEOUT, beginNanos);
            }
            return result(started, outcome);
        } finally {
            deleteResult(file);
        }
    }

    /// Waits for the outcome of a function, and reports a failure before the process leaves the job.
    ///
    /// @return null if the process ended without an outcome
    private @Nullable Outcome awaitOutcome(Process started, Path file)
            throws IOException, ClassNotFoundException, InterruptedException {
        while (!Files.exists(file)) {
            if (started.waitFor(POLL_INTERVAL) && !Files.exists(file)) {
                return null;
            }
        }
        Outcome outcome;
        try (ObjectInputStream in = new LoaderInputStream(Files.newInputStream(file))) {
            outcome = (Outcome) in.readObject();
        }
        Exception failure = outcome.thrown();
        if (failure != null) {
            failureReport.accept(failure);
            acknowledge(started);
        }
        return outcome;
    }

    /// Lets a process leave the job.
    private static void acknowledge(Process started) {
        try {
            started.getOutputStream().write(0);
            started.getOutputStream().flush();
        } catch (IOException e) {
            LOGGER.log(Level.DEBUG, "The process of a rank has ended meanwhile", e);
        }
    }

    /// Removes the file of the result and its folder.
    static void deleteResult(Path file) throws IOException {
        Files.deleteIfExists(file);
        Files.deleteIfExists(file.resolveSibling(INCOMPLETE));
        Files.deleteIfExists(Objects.requireNonNull(file.getParent()));
    }

    /// In the working folder of the executor, where files that Spark distributes may be.
    private Process start() throws IOException {
        List<String> options = new ArrayList<>(List.of("--add-modules=jdk.incubator.vector"));
        options.addAll(jvmOptions.words);
        List<String> command =
                new RankCommand(null, classPath(), options)
                        .commandLine(ProcessRankMain.class.getName(), List.of());
        return new ProcessBuilder(command).start();
    }

    /// The class path of this JVM, and the jars that Spark has added for the program.
    private static String classPath() {
        Set<String> parts = new LinkedHashSet<>();
        for (String part : System.getProperty("java.class.path").split(File.pathSeparator, -1)) {
            boolean wildcard = part.endsWith("*");
            parts.add(
                    wildcard
                            ? new File(part.substring(0, part.length() - 1)).getAbsolutePath()
                                    + File.separator
                                    + "*"
                            : new File(part).getAbsolutePath());
        }
        for (ClassLoader loader = Thread.currentThread().getContextClassLoader();
                loader != null;
                loader = loader.getParent()) {
            if (loader instanceof URLClassLoader added) {
                for (URL url : added.getURLs()) {
                    try {
                        parts.add(new File(url.toURI()).getPath());
                    } catch (URISyntaxException | IllegalArgumentException e) {
                        throw new IllegalStateException("Spark added " + url + " to its jars", e);
                    }
                }
            }
        }
        return String.join(File.pathSeparator, parts);
    }

    private static void send(Process process, TaskMessage.Start start, RankBody body, Path file)
            throws IOException {
        ObjectOutputStream out = new ObjectOutputStream(process.getOutputStream());
        out.writeInt(start.worker());
        out.writeObject(new HashMap<>(start.settings()));
        out.writeObject(new HashMap<>(hadoopSettings()));
        out.writeUTF(file.toString());
        out.writeObject(body);
        out.flush(); // stays open
    }

    /// Those of the application.
    private static Map<String, String> hadoopSettings() {
        Map<String, String> settings = new HashMap<>();
        for (Tuple2<String, String> setting :
                SparkEnv.get().conf().getAllWithPrefix(HADOOP_SETTINGS)) {
            settings.put(HADOOP_SETTINGS + setting._1(), setting._2());
        }
        return settings;
    }

    private OutputReader forward(InputStream stream, boolean isError) {
        LineOutputStream lines =
                new LineOutputStream(
                        line -> {
                            if (!isError || !JVM_WARNINGS.contains(line)) {
                                output.forwardLine(isError, line);
                            }
                        });
        return OutputReader.start("hvd-spark-output", stream, CHUNK, new LineReceiver(lines));
    }

    /// Divides the output of a process into lines.
    private record LineReceiver(LineOutputStream lines) implements OutputReader.Receiver {
        @Override
        public void onBytes(byte[] chunk, int length) {
            try {
                lines.write(chunk, 0, length);
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        }

        @Override
        public void onEnd() {
            try {
                lines.close();
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        }
    }

    private Result result(Process ended, @Nullable Outcome outcome) throws Exception {
        String reason = reason();
        if (reason != null) {
            throw new IllegalStateException("its process was ended: " + reason);
        }
        if (outcome == null) {
            throw new IllegalStateException(
                    "the process of the rank ended before its function returned: "
                            + new ExitStatus(ended.exitValue()));
        }
        Exception failure = outcome.thrown();
        if (failure != null) {
            throw failure;
        }
        return outcome.result == null ? new Result(Result.NO_RANK, null) : outcome.result;
    }

    private synchronized void use(Process started) {
        process = started;
        if (abortReason != null) {
            kill(started);
        }
    }

    private synchronized @Nullable String reason() {
        return abortReason;
    }

    @Override
    public synchronized void abort(String reason) {
        abortReason = reason;
        if (process != null) {
            kill(process);
        }
    }

    private static void kill(Process process) {
        process.descendants().forEach(ProcessHandle::destroyForcibly);
        process.destroyForcibly();
    }

    /// Finds the classes of the program, which Spark's class loader knows.
    static final class LoaderInputStream extends ObjectInputStream {
        LoaderInputStream(InputStream in) throws IOException {
            super(in);
        }

        @Override
        protected Class<?> resolveClass(ObjectStreamClass description)
                throws IOException, ClassNotFoundException {
            try {
                return Class.forName(
                        description.getName(),
                        false,
                        Thread.currentThread().getContextClassLoader());
            } catch (ClassNotFoundException e) {
                return super.resolveClass(description); // primitive types
            }
        }
    }

    /// The settings that a process read.
    static Map<String, String> settings(Object read) {
        Map<String, String> settings = new HashMap<>();
        ((Map<?, ?>) read).forEach((name, value) -> settings.put((String) name, (String) value));
        return settings;
    }
}
