package org.horovod4j.transport.shm;

import static java.nio.file.StandardOpenOption.CREATE_NEW;
import static java.nio.file.StandardOpenOption.DELETE_ON_CLOSE;
import static java.nio.file.StandardOpenOption.READ;
import static java.nio.file.StandardOpenOption.WRITE;

import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.OpenOption;
import java.nio.file.Path;
import java.nio.file.attribute.FileAttribute;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.Set;
import java.util.concurrent.ThreadLocalRandom;

/// A file whose pages several processes share.
///
/// On Linux the name is removed as soon as the file exists, and the other processes open it through
/// the descriptor of its maker, `/proc/<pid>/fd/<n>`: when the last process ends, in whatever way,
/// the memory is gone. Elsewhere the name stays until [#unlink].
final class SharedFile implements AutoCloseable {
    private static final FileAttribute<?> OWNER_ONLY =
            PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rw-------"));
    private static final String PREFIX = "horovod4j-";
    private static final int ZERO_BUFFER_BYTES = 1 << 20;

    private static final Set<OpenOption> NAMED = Set.of(CREATE_NEW, READ, WRITE);

    /// On Linux the JDK deletes a file with `DELETE_ON_CLOSE` as soon as it has opened it, so that
    /// hardly a moment is left in which a process that is killed would leave the file behind.
    private static final Set<OpenOption> UNLINKED =
            Set.of(CREATE_NEW, READ, WRITE, DELETE_ON_CLOSE);

    private final Path path;
    private final Path name;
    private final FileChannel channel;
    private final MemorySegment memory;

    private SharedFile(Path path, Path name, FileChannel channel, MemorySegment memory) {
        this.path = path;
        this.name = name;
        this.channel = channel;
        this.memory = memory;
    }

    /// Makes a file of `byteSize` zeros in `folder`, mapped for the life of `arena`.
    ///
    /// @param fileDescriptors where to find its number; the same for all files of one maker saves time
    /// @throws IOException when the folder cannot be written or has no room: pages are taken now,
    ///     so that no later access to them can fail
    static SharedFile create(
            Path folder, long byteSize, Arena arena, FileDescriptors fileDescriptors)
            throws IOException {
        long number = ThreadLocalRandom.current().nextLong(Long.MAX_VALUE);
        Path name = named(folder.toRealPath(), number);
        boolean nameless = fileDescriptors.isAvailable();
        FileChannel channel = open(name, nameless ? UNLINKED : NAMED);
        try {
            Path path = nameless ? descriptorPath(fileDescriptors, name) : name;
            reserve(channel, byteSize);
            MemorySegment memory = channel.map(FileChannel.MapMode.READ_WRITE, 0, byteSize, arena);
            return new SharedFile(path, name, channel, memory);
        } catch (IOException | RuntimeException e) {
            channel.close();
            Files.deleteIfExists(name);
            throw e;
        }
    }

    private static FileChannel open(Path name, Set<OpenOption> options) throws IOException {
        try {
            return FileChannel.open(name, options, OWNER_ONLY);
        } catch (UnsupportedOperationException e) {
            throw new IOException("files there cannot be kept from other users", e);
        }
    }

    /// Maps a file that another process has made.
    static MemorySegment map(Path path, long byteSize, Arena arena) throws IOException {
        try (FileChannel channel = FileChannel.open(path, READ, WRITE)) {
            if (channel.size() < byteSize) {
                throw new IOException(
                        "%s has %d bytes instead of %d".formatted(path, channel.size(), byteSize));
            }
            return channel.map(FileChannel.MapMode.READ_WRITE, 0, byteSize, arena);
        }
    }

    /// Where other processes of this host can open the file.
    Path path() {
        return path;
    }

    /// A number by which [#sibling] finds the file.
    long number() {
        String file = path.getFileName().toString();
        return Long.parseLong(file.startsWith(PREFIX) ? file.substring(PREFIX.length()) : file);
    }

    /// The path of the file with that number, made by the process that made the one at `path`.
    static Path sibling(Path path, long number) {
        return path.getFileName().toString().startsWith(PREFIX)
                ? named(path.resolveSibling("."), number).normalize()
                : path.resolveSibling(Long.toString(number));
    }

    private static Path named(Path folder, long number) {
        return folder.resolve(PREFIX + number);
    }

    MemorySegment memory() {
        return memory;
    }

    /// Removes the name, once everybody has mapped the file.
    void unlink() throws IOException {
        Files.deleteIfExists(name);
    }

    @Override
    public void close() throws IOException {
        channel.close();
        unlink();
    }

    private static Path descriptorPath(FileDescriptors fileDescriptors, Path name)
            throws IOException {
        int number = fileDescriptors.find(Path.of(name + " (deleted)")); // as the kernel shows it
        String process = Long.toString(ProcessHandle.current().pid());
        return Path.of("/proc", process, "fd", Integer.toString(number));
    }

    private static void reserve(FileChannel channel, long byteSize) throws IOException {
        ByteBuffer zeros = ByteBuffer.allocateDirect((int) Math.min(byteSize, ZERO_BUFFER_BYTES));
        for (long written = 0; written < byteSize; ) {
            zeros.clear().limit((int) Math.min(zeros.capacity(), byteSize - written));
            written += channel.write(zeros, written);
        }
    }
}
