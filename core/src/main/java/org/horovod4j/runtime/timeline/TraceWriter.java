package org.horovod4j.runtime.timeline;

import java.io.Closeable;
import java.io.IOException;
import java.time.Duration;
import java.time.Instant;
import java.util.function.LongSupplier;

/// Takes events from a queue and writes them to a file, one batch at a time.
final class TraceWriter implements Closeable {
    /// What lasts longer than this is shown before it has ended.
    static final Duration LONG = Duration.ofSeconds(1);

    private static final int BATCH = 4096;

    private final EventQueue queue;
    private final TraceFile file;
    private final LongSupplier nanoTime;
    private final Trace trace;
    private final Rows rows;
    private long nextLookNanos;

    /// Writes the header at once.
    TraceWriter(EventQueue queue, TraceFile file, TraceOwner owner, LongSupplier nanoTime)
            throws IOException {
        this.queue = queue;
        this.file = file;
        this.nanoTime = nanoTime;
        long now = nanoTime.getAsLong();
        this.nextLookNanos = now + LONG.toNanos();
        this.trace = new Trace(file, TraceHeader.of(owner, Instant.now(), now));
        this.rows = new Rows(trace);
        trace.begin();
        file.flush();
    }

    /// Writes what has come, up to some number of events, and returns how many those were.
    int doWork() throws IOException {
        int count = 0;
        while (count < BATCH && !file.isFull()) {
            Event event = queue.poll();
            if (event == null) {
                tellWhatWasLost();
                break;
            }
            rows.show(event);
            count++;
        }
        showWhatLastsLong();
        file.flush();
        return count;
    }

    /// Whether the file has reached its limit, and nothing more will be written.
    boolean isFull() {
        return file.isFull();
    }

    private void tellWhatWasLost() throws IOException {
        if (queue.isShut()) {
            long now = nanoTime.getAsLong();
            rows.forget(now);
            trace.notice("EVENTS_LOST", now, new JsonText().put("events", queue.reopen()));
        }
    }

    private void showWhatLastsLong() throws IOException {
        long now = nanoTime.getAsLong();
        if (now - nextLookNanos >= 0) {
            nextLookNanos = now + LONG.toNanos();
            rows.showOlderThan(now - LONG.toNanos());
        }
    }

    /// Writes what has come, ends what is open, and closes the file.
    @Override
    public void close() throws IOException {
        try (file) {
            while (doWork() > 0) {
                // until all is written, or the file is full
            }
            long now = nanoTime.getAsLong();
            rows.cut(now);
            if (file.isFull()) {
                JsonText arguments = new JsonText().put("bytes", file.limit());
                trace.notice("TIMELINE_FULL", now, arguments);
            }
            file.flush();
        }
    }
}
