package org.horovod4j.launcher;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.concurrent.locks.LockSupport;

/// How a test and the workers of an [ElasticTrainer] job tell each other where they are: by files, which
/// all hosts of a test see, and which stay when a process is killed.
///
/// @param end the file whose appearance ends the training; the others have its name and more
record FileSignals(Path end) {
    private static final Duration POLL_INTERVAL = Duration.ofMillis(10);

    /// Ends the training, after the epoch that is under way.
    void endTraining() {
        create(end);
    }

    boolean isEnded() {
        return Files.exists(end);
    }

    /// Lets this worker's program throw in its next step.
    void requestFailure(int worker) {
        create(file("fail", worker));
    }

    boolean isFailureRequested(String worker) {
        return Files.exists(file("fail", worker));
    }

    /// Lets this worker go on when it holds, or not hold at all but only tell of it.
    void release(int worker) {
        create(file("go", worker));
    }

    /// Tells that this worker has come to a place, and waits there. The test or the launcher ends that.
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
            return; // it has been said
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
