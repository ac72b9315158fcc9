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

/// A JSON array on disk that grows, and is complete after every write.
///
/// Each write starts with the comma that takes the place of the closing bracket, and ends with a
/// new bracket. Whatever becomes of the program, the file can be opened; only a program that is
/// killed within a write may leave a torn event behind, which [TraceMerger] leaves out.
///
/// While it is written it is locked, so that others can tell: the system removes the lock with the
/// process, however that ends.
final class TraceFile implements Closeable {
    private static final Logger LOGGER = System.getLogger(TraceFile.class.getName());

    /// The least limit: what is shorter would hold little but the words that it is full.
    static final long MIN_LIMIT = 64 * 1024;

    /// Kept free for the ends of what has begun, and for the last words.
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

    /// Where the event that is put together now begins in the batch.
    private int begun;

    private boolean full;

    private TraceFile(Path path, FileChannel channel, long limit) {
        this.path = path;
        this.channel = channel;
        this.limit = limit;
    }

    /// Opens a file for writing, and leaves what is in it until [#begin].
    ///
    /// @throws ConfigurationException when that cannot be
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

    /// Whether somebody, in this process or another of this host, is still writing to the file.
    /// Where a file system has no locks, nobody seems to be.
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

    /// Empties the file and writes the first event.
    void begin(JsonBuilder header) throws IOException {
        lock();
        channel.truncate(0);
        batch.put(OPENING).put(header.bytes());
        flush();
    }

    /// Best effort: whoever finds no lock merges a file too early, and the one that ends last once
    /// more.
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

    /// Adds an event that the file should not end without.
    void addLast(JsonBuilder event) throws IOException {
        next().put(event.bytes());
        boolean _ = keep(limit);
    }

    /// Begins an event, which is put behind what is returned here and ended by [#end].
    TextBuffer next() {
        begun = batch.length();
        return batch.put(COMMA);
    }

    /// Adds the event that was begun last, unless it is [full][#isFull] or would be.
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

    /// Writes what was added.
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

    /// Takes back half a write, most likely one for which the disk had no more room.
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
