package org.horovod4j.launcher;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.concurrent.locks.LockSupport;

/// Signals between a test and the workers of an [ElasticTrainer] job. They are files, which all
/// hosts of a test see and which outlive a killed process.
///
/// @param end the file that ends the training; the names of the others begin with its name
record FileSignals(Path end) {
    private static final Duration POLL_INTERVAL = Duration.ofMillis(10);

    /// Ends the training after the current epoch.
    void endTraining() {
        create(end);
    }

    boolean isEnded() {
        return Files.exists(end);
    }

    /// Makes the program of this worker throw in its next step.
    void requestFailure(int worker) {
        create(file("fail", worker));
    }

    boolean isFailureRequested(String worker) {
        return Files.exists(file("fail", worker));
    }

    /// Releases this worker from its hold, also in advance.
    void release(int worker) {
        create(file("go", worker));
    }

    /// Reports that this worker has reached a place, and waits until it is released or killed.
    void hold(String place, String worker) {
        create(file("holding." + place, worker));
        while (!Files.exists(file("go", worker))) {
            LockSupport.parkNanos(POLL_INTERVAL.toNanos());
        }
    }

    boolean isHolding(String place, int worker) {
        return Files.exists(file("holding." + place, worker));
    }

    private Path file(String what, Object worker) {
        return end.resolveSibling("%s.%s.%s".formatted(end.getFileName(), what, worker));
    }

    private static void create(Path file) {
        try {
            Files.createFile(file);
        } catch (FileAlreadyExistsException e) {
            return; // the file exists
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
