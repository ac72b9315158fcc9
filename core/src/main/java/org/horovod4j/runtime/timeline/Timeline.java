package org.horovod4j.runtime.timeline;

import org.horovod4j.ConfigurationException;
import org.jspecify.annotations.Nullable;

import java.io.IOException;
import java.nio.file.Path;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Supplier;

/// Records into a trace file for Perfetto and `chrome://tracing`, while it is started.
///
/// The file can be opened at any time. Recording never blocks a working thread: another thread
/// writes. If it cannot keep up, operations are left out, and the file gives the number of lost
/// events.
public final class Timeline implements Recorder, AutoCloseable {
    /// No limit on the bytes of a file.
    public static final long UNLIMITED = Long.MAX_VALUE;

    private final Supplier<TraceOwner> owner;
    private final long maxBytes;

    /// Null while nothing is recorded.
    private final AtomicReference<@Nullable Recording> current = new AtomicReference<>();

    /// Recording ends before a file grows larger than `maxBytes`.
    public Timeline(TraceOwner owner, long maxBytes) {
        this(() -> owner, maxBytes);
    }

    /// Like [#Timeline(TraceOwner, long)], with an owner that is computed for each file: clocks
    /// drift.
    public Timeline(Supplier<TraceOwner> owner, long maxBytes) {
        if (maxBytes < TraceFile.MIN_LIMIT) {
            throw new IllegalArgumentException(
                    "a timeline of at most %d bytes is too small: allow at least %d"
                            .formatted(maxBytes, TraceFile.MIN_LIMIT));
        }
        this.owner = owner;
        this.maxBytes = maxBytes;
    }

    /// The file of `rank` when all ranks record: `trace.rank3.json` beside `trace.json`.
    public static Path fileOfRank(Path file, int rank) {
        String name = String.valueOf(file.getFileName());
        int dot = name.lastIndexOf('.');
        int end = dot > 0 ? dot : name.length();
        return file.resolveSibling(name.substring(0, end) + ".rank" + rank + name.substring(end));
    }

    /// Whether a process of this host is writing `file`.
    public static boolean isBeingWritten(Path file) {
        return TraceFile.isBeingWritten(file);
    }

    /// Starts a recording into `file`, and ends the one before. Returns when that is done.
    ///
    /// @throws ConfigurationException when the file cannot be written; the recording before
    ///     continues
    public synchronized void start(Path file, boolean markCycles) {
        TraceFile next = TraceFile.open(file, maxBytes);
        // Before the new header is written: it may be the same file.
        stop();
        try {
            Recording recording =
                    new Recording(next, owner.get(), markCycles, this::recordingEnded);
            current.set(recording);
            recording.start();
        } catch (IOException e) {
            throw new ConfigurationException(
                    "cannot write the timeline to %s: %s".formatted(file, e), close(next, e));
        }
    }

    private static IOException close(TraceFile file, IOException cause) {
        try {
            file.close();
        } catch (IOException e) {
            cause.addSuppressed(e);
        }
        return cause;
    }

    /// Ends the file, and returns when it is complete. Does nothing without a recording.
    public synchronized void stop() {
        Recording recording = current.getAndSet(null);
        if (recording != null) {
            recording.end();
        }
    }

    @Override
    public void close() {
        stop();
    }

    private void recordingEnded(Recording recording) {
        current.compareAndSet(recording, null);
    }

    @Override
    public boolean isOn() {
        return current.get() != null;
    }

    @Override
    public void submitted(int processSet, String tensor, String op) {
        record(new TimelineEvent.Submitted(processSet, tensor, op, System.nanoTime()));
    }

    @Override
    public void rankReady(int processSet, String tensor, int rank) {
        record(new TimelineEvent.RankReady(processSet, tensor, rank, System.nanoTime()));
    }

    @Override
    public void negotiationEnded(int processSet, String tensor) {
        record(new TimelineEvent.NegotiationEnded(processSet, tensor, System.nanoTime()));
    }

    @Override
    public void negotiationFailed(int processSet, String tensor, String reason) {
        record(new TimelineEvent.NegotiationFailed(processSet, tensor, reason, System.nanoTime()));
    }

    @Override
    public void started(Collective collective) {
        record(new TimelineEvent.Started(collective, System.nanoTime()));
    }

    @Override
    public void activity(Collective collective, String name, long beginNanos, long endNanos) {
        record(new TimelineEvent.Activity(collective, name, beginNanos, endNanos));
    }

    @Override
    public void ended(Collective collective) {
        record(new TimelineEvent.Ended(collective, System.nanoTime()));
    }

    @Override
    public void cycle() {
        Recording recording = current.get();
        if (recording != null && recording.marksCycles()) {
            recording.record(new TimelineEvent.Cycle(System.nanoTime()));
        }
    }

    /// For the flight recorder only, like the two below: slices show whether a plan is locked.
    @Override
    public void planLocked(int processSet, long plan, int batches) {}

    @Override
    public void planLeft(int processSet, String reason) {}

    @Override
    public void waits(int processSet, long spinning, long yielding, long sleeping) {}

    private void record(TimelineEvent timelineEvent) {
        Recording recording = current.get();
        if (recording != null) {
            recording.record(timelineEvent);
        }
    }
}
