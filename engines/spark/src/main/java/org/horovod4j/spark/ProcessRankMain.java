package org.horovod4j.spark;

import org.horovod4j.Hvd;
import org.horovod4j.codec.ObjectCodec;
import org.horovod4j.launcher.function.FunctionFailure;
import org.horovod4j.spark.RankRunner.Result;
import org.jspecify.annotations.Nullable;

import java.io.IOException;
import java.io.InputStream;
import java.io.NotSerializableException;
import java.io.ObjectInputStream;
import java.io.ObjectOutputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Collections;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;

/// The process of a [ProcessRank].
final class ProcessRankMain {
    /// How long the executor may take to report a failure.
    private static final Duration REPORT_TIMEOUT = Duration.ofSeconds(5);

    private ProcessRankMain() {}

    public static void main(String[] arguments) throws Exception {
        InputStream executor = System.in;
        ObjectInputStream in = new ProcessRank.LoaderInputStream(executor);
        int worker = in.readInt();
        Map<String, String> settings = ProcessRank.settings(in.readObject());
        // Spark reads them where it runs without an application. Options of the JVM take
        // precedence.
        ProcessRank.settings(in.readObject()).forEach(System.getProperties()::putIfAbsent);
        Path file = Path.of(in.readUTF());
        RankBody body = (RankBody) in.readObject();
        CountDownLatch reported = new CountDownLatch(1);
        Thread.ofPlatform()
                .daemon()
                .name("hvd-executor-watch")
                .start(() -> endWith(executor, file, reported));
        @Nullable Throwable thrown = null;
        ProcessRank.Outcome outcome;
        try {
            outcome = new ProcessRank.Outcome(call(worker, settings, body), null);
        } catch (Throwable e) { // everything is reported to the driver
            thrown = e;
            outcome = failed(e);
        }
        flushOutput(); // before the driver ends the job because of a failure
        try {
            write(outcome, file);
        } catch (NotSerializableException e) {
            write(
                    failed(
                            new IllegalStateException(
                                    "the function returned a value that cannot be serialized: "
                                            + e.getMessage(),
                                    e)),
                    file);
        }
        if (thrown == null) {
            Hvd.shutdown();
        } else {
            // When this rank leaves, the others fail, and Spark kills the task of this one.
            boolean _ = reported.await(REPORT_TIMEOUT.toMillis(), TimeUnit.MILLISECONDS);
            Hvd.abort("its function failed: " + thrown);
        }
        flushOutput();
        halt(0); // the function may have left threads
    }

    private static void flushOutput() {
        System.out.flush();
        System.err.flush();
    }

    /// Ends this process, and those that the function has started.
    private static void halt(int code) {
        ProcessHandle.current().descendants().forEach(ProcessHandle::destroyForcibly);
        Runtime.getRuntime().halt(code);
    }

    /// The file exists when it is complete.
    private static void write(ProcessRank.Outcome outcome, Path file) throws IOException {
        Path incomplete = file.resolveSibling(ProcessRank.INCOMPLETE);
        try (ObjectOutputStream out = new ObjectOutputStream(Files.newOutputStream(incomplete))) {
            out.writeObject(outcome);
        } catch (IOException | RuntimeException e) {
            Files.deleteIfExists(incomplete);
            throw e;
        }
        Files.move(incomplete, file);
    }

    private static ProcessRank.Outcome failed(Throwable thrown) {
        return new ProcessRank.Outcome(null, new ObjectCodec().encode(FunctionFailure.of(thrown)));
    }

    /// The executor never closes the stream while the process runs.
    ///
    /// @param reported counted down when the executor has reported a failure
    private static void endWith(InputStream executor, Path file, CountDownLatch reported) {
        try {
            while (executor.read() >= 0) {
                reported.countDown();
            }
        } catch (IOException e) {
            System.err.println("the executor is gone: " + e);
        }
        try {
            ProcessRank.deleteResult(file);
        } catch (IOException e) {
            System.err.println("the file of the result stays behind: " + e);
        }
        halt(1);
    }

    private static Result call(int worker, Map<String, String> settings, RankBody body)
            throws Exception {
        return switch (body) {
            case RankBody.OfRank function -> {
                Hvd.init(settings);
                yield new Result(
                        worker, function.call(Hvd.communicator(), Collections.emptyIterator()));
            }
            case RankBody.OfWorker(var function) -> {
                Hvd.configure(settings);
                @Nullable Object value = function.call();
                yield new Result(Hvd.isInitialized() ? Hvd.rank() : Result.NO_RANK, value);
            }
        };
    }
}
