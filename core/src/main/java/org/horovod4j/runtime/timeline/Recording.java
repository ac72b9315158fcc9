package org.horovod4j.runtime.timeline;

import java.io.IOException;
import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.nio.file.Path;
import java.time.Duration;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Consumer;

/// Writes one file, from header to end, on thread `hvd-timeline`.
final class Recording {
    private static final Logger LOGGER = System.getLogger(Recording.class.getName());

    /// Enough for some seconds of a busy job; about 4 MB when full.
    static final int QUEUE_CAPACITY = 1 << 16;

    /// The writer polls at this interval, so that no working thread needs to wake it.
    private static final Duration PAUSE = Duration.ofMillis(20);

    /// The longest wait for the disk at the end of a recording.
    private static final Duration LAST_WRITE = Duration.ofSeconds(30);

    private final EventQueue queue = new EventQueue(QUEUE_CAPACITY, this::wakeWriter);
    private final boolean markCycles;
    private final TraceWriter writer;
    private final Path path;
    private final Consumer<Recording> onEnd;
    private final Thread thread;

    private volatile boolean ending;

    /// @param onEnd called by the writing thread when it ends, by request or by an error
    Recording(TraceFile file, TraceOwner owner, boolean markCycles, Consumer<Recording> onEnd)
            throws IOException {
        this.markCycles = markCycles;
        this.path = file.path();
        this.onEnd = onEnd;
        this.writer = new TraceWriter(queue, file, owner, System::nanoTime);
        this.thread =
                Thread.ofPlatform()
                        .name("hvd-timeline-" + owner.rank())
                        .daemon()
                        .unstarted(this::work);
    }

    void start() {
        thread.start();
    }

    boolean marksCycles() {
        return markCycles;
    }

    void record(TimelineEvent timelineEvent) {
        queue.offer(timelineEvent);
    }

    /// Writes all events recorded before this call, ends the file and waits until that is done.
    void end() {
        ending = true;
        wakeWriter();
        boolean interrupted = false;
        boolean ended = false;
        long deadline = System.nanoTime() + LAST_WRITE.toNanos();
        while (!ended && System.nanoTime() - deadline < 0) {
            try {
                ended = thread.join(Duration.ofNanos(deadline - System.nanoTime()));
            } catch (InterruptedException e) {
                // The file must be complete: the interrupt status is restored afterwards.
                interrupted = true;
            }
        }
        if (!ended) {
            LOGGER.log(
                    Level.WARNING,
                    "timeline {0}: not complete after {1} s; the program continues without it",
                    path,
                    LAST_WRITE.toSeconds());
        }
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
    }

    private void wakeWriter() {
        LockSupport.unpark(thread);
    }

    private void work() {
        try (writer) {
            while (!ending && !writer.isFull()) {
                if (writer.doWork() == 0) {
                    LockSupport.parkNanos(PAUSE.toNanos());
                }
            }
        } catch (IOException e) {
            logEnd(e.toString());
        } finally {
            onEnd.accept(this);
        }
        if (writer.isFull()) {
            logEnd("it has reached its limit of bytes, see HOROVOD_TIMELINE_MAX_BYTES");
        }
    }

    private void logEnd(String reason) {
        LOGGER.log(Level.WARNING, "timeline {0}: recording has ended: {1}", path, reason);
    }
}
