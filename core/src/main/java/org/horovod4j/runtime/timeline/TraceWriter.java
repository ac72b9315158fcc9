package org.horovod4j.runtime.timeline;

import java.io.Closeable;
import java.io.IOException;
import java.time.Duration;
import java.util.function.LongSupplier;

/// Takes events from a queue and writes them to a file, one batch at a time.
final class TraceWriter implements Closeable {
    /// Longer slices are shown before they end.
    static final Duration LONG_SLICE = Duration.ofSeconds(1);

    private static final int BATCH = 4096;

    private final EventQueue queue;
    private final TraceFile file;
    private final LongSupplier nanoTime;
    private final TraceEventWriter traceEventWriter;
    private final TraceRows traceRows;
    private long nextLookNanos;

    /// Writes the header.
    TraceWriter(EventQueue queue, TraceFile file, TraceOwner owner, LongSupplier nanoTime)
            throws IOException {
        this.queue = queue;
        this.file = file;
        this.nanoTime = nanoTime;
        long now = nanoTime.getAsLong();
        this.nextLookNanos = now + LONG_SLICE.toNanos();
        this.traceEventWriter = new TraceEventWriter(file, owner, now);
        this.traceRows = new TraceRows(traceEventWriter);
        traceEventWriter.begin();
        file.flush();
    }

    /// Writes the queued events, up to a limit, and returns their number.
    int doWork() throws IOException {
        int count = 0;
        while (count < BATCH && !file.isFull()) {
            TimelineEvent timelineEvent = queue.poll();
            if (timelineEvent == null) {
                writeLostEvents();
                break;
            }
            traceRows.show(timelineEvent);
            count++;
        }
        writeLongSlices();
        file.flush();
        return count;
    }

    /// Whether the file has reached its limit, so that no more is written.
    boolean isFull() {
        return file.isFull();
    }

    private void writeLostEvents() throws IOException {
        if (queue.isOverflowed()) {
            long now = nanoTime.getAsLong();
            traceRows.discardOpen(now);
            traceEventWriter.notice(
                    "EVENTS_LOST", now, new JsonBuilder().put("events", queue.clearOverflow()));
        }
    }

    private void writeLongSlices() throws IOException {
        long now = nanoTime.getAsLong();
        if (now - nextLookNanos >= 0) {
            nextLookNanos = now + LONG_SLICE.toNanos();
            traceRows.writeBeginsOlderThan(now - LONG_SLICE.toNanos());
        }
    }

    /// Writes the queued events, ends open slices, and closes the file.
    @Override
    public void close() throws IOException {
        try (file) {
            while (doWork() > 0) {
                // until all is written, or the file is full
            }
            long now = nanoTime.getAsLong();
            traceRows.closeUnfinished(now);
            if (file.isFull()) {
                JsonBuilder arguments = new JsonBuilder().put("bytes", file.limit());
                traceEventWriter.notice("TIMELINE_FULL", now, arguments);
            }
            file.flush();
        }
    }
}
