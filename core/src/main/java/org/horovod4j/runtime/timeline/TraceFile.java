package org.horovod4j.runtime.timeline;

import org.horovod4j.ConfigurationException;
import org.jspecify.annotations.Nullable;

import java.io.Closeable;
import java.io.IOException;
import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.channels.FileLock;
import java.nio.channels.OverlappingFileLockException;
import java.nio.charset.StandardCharsets;
import java.nio.file.AccessDeniedException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;

/// A growing JSON array on disk that is complete after every write.
///
/// Each write starts with a comma, which replaces the closing bracket, and ends with a new bracket.
/// So the file can be opened at any time. Only a program that is killed within a write may leave a
/// torn event, which [TraceMerger] leaves out.
///
/// The file is locked while it is written, so that other ranks can detect that. The system removes
/// the lock when the process ends.
final class TraceFile implements Closeable {
    private static final Logger LOGGER = System.getLogger(TraceFile.class.getName());

    /// The minimum limit: a smaller file would hold hardly more than its header.
    static final long MIN_LIMIT = 64 * 1024;

    /// Reserved for the ends of open slices, and for the last notice.
    private static final int RESERVE = 8 * 1024;

    private static final int BATCH = 64 * 1024;
    private static final byte[] OPENING = "[\n".getBytes(StandardCharsets.US_ASCII);
    private static final byte[] COMMA = ",\n".getBytes(StandardCharsets.US_ASCII);
    private static final byte[] CLOSING = "\n]\n".getBytes(StandardCharsets.US_ASCII);

    private final Path path;
    private final FileChannel channel;
    private final long limit;
    private final TextBuffer batch = new TextBuffer(2 * BATCH);

    /// Where the closing bracket begins.
    private long end;

    /// Where the current event begins in the batch.
    private int begun;

    private boolean full;

    private TraceFile(Path path, FileChannel channel, long limit) {
        this.path = path;
        this.channel = channel;
        this.limit = limit;
    }

    /// Opens a file for writing. Its content remains until [#begin].
    ///
    /// @throws ConfigurationException when it cannot be opened
    static TraceFile open(Path path, long limit) {
        try {
            FileChannel channel =
                    FileChannel.open(path, StandardOpenOption.CREATE, StandardOpenOption.WRITE);
            return new TraceFile(path, channel, limit);
        } catch (IOException e) {
            throw new ConfigurationException(
                    """
                    cannot write the timeline to %s: %s
                    Give a file in a folder that exists and that this process may write to."""
                            .formatted(path, reason(path, e)),
                    e);
        }
    }

    private static String reason(Path path, IOException e) {
        Path folder = path.toAbsolutePath().getParent();
        if (folder != null && !Files.exists(folder)) {
            return "there is no folder " + folder;
        }
        if (Files.isDirectory(path)) {
            return "it is a folder";
        }
        return e instanceof AccessDeniedException ? "permission denied" : e.toString();
    }

    long limit() {
        return limit;
    }

    Path path() {
        return path;
    }

    /// Whether a process of this host is still writing the file. False if the file system has no
    /// locks.
    static boolean isBeingWritten(Path path) {
        try (FileChannel channel = FileChannel.open(path, StandardOpenOption.READ);
                FileLock free = channel.tryLock(0, Long.MAX_VALUE, true)) {
            return free == null;
        } catch (OverlappingFileLockException e) {
            return true;
        } catch (IOException e) {
            return false;
        }
    }

    /// Truncates the file and writes the first event.
    void begin(JsonBuilder header) throws IOException {
        lock();
        channel.truncate(0);
        batch.put(OPENING).put(header.bytes());
        flush();
    }

    /// Best effort: without a lock a rank may merge a file too early. The rank that ends last then
    /// merges it again.
    private void lock() {
        try {
            @Nullable FileLock _ = channel.tryLock();
        } catch (IOException | OverlappingFileLockException e) {
            LOGGER.log(Level.DEBUG, "timeline {0} is not locked: {1}", path, e);
        }
    }

    /// Adds an event, unless it is [full][#isFull] or would be.
    void add(JsonBuilder event) throws IOException {
        next().put(event.bytes());
        end();
    }

    /// Adds an event for which space is reserved.
    void addLast(JsonBuilder event) throws IOException {
        next().put(event.bytes());
        boolean _ = keep(limit);
    }

    /// Begins an event. The caller appends it to the result, and calls [#end].
    TextBuffer next() {
        begun = batch.length();
        return batch.put(COMMA);
    }

    /// Adds the current event, unless the file is [full][#isFull] or would be.
    void end() throws IOException {
        full = full || !keep(limit - RESERVE);
        if (full) {
            batch.truncate(begun);
        }
    }

    boolean isFull() {
        return full;
    }

    private boolean keep(long highest) throws IOException {
        if (end + batch.length() + CLOSING.length > highest) {
            batch.truncate(begun);
            return false;
        }
        if (batch.length() >= BATCH) {
            flush();
        }
        return true;
    }

    /// Writes all added events.
    void flush() throws IOException {
        int length = batch.length();
        if (length == 0) {
            return;
        }
        ByteBuffer bytes = batch.put(CLOSING).view();
        batch.truncate(0);
        try {
            write(bytes, end);
        } catch (IOException e) {
            restore(e);
            throw e;
        }
        end += length;
    }

    /// Undoes an incomplete write, most likely on a full disk.
    private void restore(IOException cause) {
        try {
            channel.truncate(end);
            write(ByteBuffer.wrap(CLOSING), end);
        } catch (IOException e) {
            cause.addSuppressed(e);
        }
    }

    private void write(ByteBuffer bytes, long position) throws IOException {
        long at = position;
        while (bytes.hasRemaining()) {
            at += channel.write(bytes, at);
        }
    }

    @Override
    public void close() throws IOException {
        channel.close();
    }
}
