package org.horovod4j.transport.shm;

import static java.nio.file.StandardOpenOption.CREATE_NEW;
import static java.nio.file.StandardOpenOption.DELETE_ON_CLOSE;
import static java.nio.file.StandardOpenOption.READ;
import static java.nio.file.StandardOpenOption.WRITE;

import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.nio.channels.ClosedByInterruptException;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.OpenOption;
import java.nio.file.Path;
import java.nio.file.attribute.FileAttribute;
import java.nio.file.attribute.PosixFilePermissions;
import java.nio.file.attribute.UserPrincipal;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ThreadLocalRandom;

/// A file whose pages several processes share.
///
/// On Linux the name is removed as soon as the file exists. Other processes open the file through
/// the descriptor of the creating process, `/proc/<pid>/fd/<n>`. When the last process ends, in any
/// way, the memory is freed. On other systems the name stays until [#unlink].
final class SharedFile implements AutoCloseable {
    private static final FileAttribute<?> OWNER_ONLY =
            PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rw-------"));
    private static final String PREFIX = "horovod4j-";
    private static final int ZERO_BUFFER_BYTES = 1 << 20;

    private static final Set<OpenOption> NAMED = Set.of(CREATE_NEW, READ, WRITE);

    /// On Linux the JDK deletes a file with `DELETE_ON_CLOSE` right after opening it. A process
    /// that is killed leaves the file behind only if it is killed between these two calls.
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

    /// Creates a file of `byteSize` zeros in `folder`, mapped for the lifetime of `arena`.
    ///
    /// @param fileDescriptors finds the descriptor of the new file; pass the same instance for all
    ///     files, which is faster
    /// @throws IOException if the folder cannot be written or is full. All pages are allocated
    ///     here, so that no later access to them can fail
    static SharedFile create(
            Path folder, long byteSize, Arena arena, FileDescriptors fileDescriptors)
            throws IOException {
        return uninterrupted(() -> createOnce(folder, byteSize, arena, fileDescriptors));
    }

    private static SharedFile createOnce(
            Path folder, long byteSize, Arena arena, FileDescriptors fileDescriptors)
            throws IOException {
        long number = ThreadLocalRandom.current().nextLong(Long.MAX_VALUE);
        Path name = named(folder.toRealPath(), number);
        boolean unnamed = fileDescriptors.isAvailable();
        FileChannel channel = open(name, unnamed ? UNLINKED : NAMED);
        try {
            Path path = unnamed ? descriptorPath(fileDescriptors, name) : name;
            reserve(channel, byteSize);
            MemorySegment memory = map(channel, byteSize, arena);
            return new SharedFile(path, name, channel, memory);
        } catch (IOException | RuntimeException e) {
            channel.close();
            Files.deleteIfExists(name);
            throw e;
        }
    }

    /// Work on a file that can be started again.
    private interface FileAction<T> {
        T run() throws IOException;
    }

    /// Does the work even if the thread is or gets interrupted, which closes the file, and keeps the
    /// interrupt status. After an interrupt it starts again on a thread that no program knows: the
    /// program may interrupt its own thread any number of times.
    private static <T> T uninterrupted(FileAction<T> action) throws IOException {
        boolean interrupted = Thread.interrupted();
        try {
            return action.run();
        } catch (ClosedByInterruptException _) {
            return onOwnThread(action);
        } finally {
            if (interrupted) {
                Thread.currentThread().interrupt();
            }
        }
    }

    private static <T> T onOwnThread(FileAction<T> action) throws IOException {
        CompletableFuture<T> result = new CompletableFuture<>();
        Runnable work =
                () -> {
                    try {
                        result.complete(action.run());
                    } catch (IOException | RuntimeException | Error e) {
                        result.completeExceptionally(e);
                    }
                };
        Thread.ofPlatform().daemon().name("hvd-shm").start(work);
        try {
            return result.join(); // not interruptible
        } catch (CompletionException e) {
            if (e.getCause() instanceof IOException failure) {
                throw failure;
            }
            throw e;
        }
    }

    private static FileChannel open(Path name, Set<OpenOption> options) throws IOException {
        try {
            return FileChannel.open(name, options, OWNER_ONLY);
        } catch (UnsupportedOperationException e) {
            throw new IOException("files there cannot be protected from other users", e);
        }
    }

    /// Checks that a path which another process has named leads to a shared file of that process:
    /// `/proc/<pid>/fd/<n>` or, on other systems, a file of this kind in one of `folders`.
    ///
    /// @param pid of the process
    /// @param owner the user to whom the file must belong
    /// @throws IOException if it is any other file
    static void checkPeerPath(Path path, long pid, List<Path> folders, UserPrincipal owner)
            throws IOException {
        boolean descriptor =
                path.toString().matches("/proc/" + pid + "/fd/\\d+")
                        && isSharedFile(Files.readSymbolicLink(path));
        boolean named =
                isSharedFile(path)
                        && folders.contains(path.getParent())
                        && !Files.isSymbolicLink(path);
        if (!descriptor && !named) {
            throw new IOException(
                    "it is not a file that Horovod4J of process %d shares".formatted(pid));
        }
        UserPrincipal found = Files.getOwner(path);
        if (!found.equals(owner)) {
            throw new IOException("it belongs to %s, not to %s".formatted(found, owner));
        }
    }

    /// @param name the kernel adds a word to the name of a file that was deleted
    private static boolean isSharedFile(Path name) {
        return name.getFileName() != null
                && name.getFileName().toString().matches(PREFIX + "\\d+( \\(deleted\\))?");
    }

    /// Maps a file that another process has created.
    static MemorySegment map(Path path, long byteSize, Arena arena) throws IOException {
        return uninterrupted(() -> mapOnce(path, byteSize, arena));
    }

    private static MemorySegment mapOnce(Path path, long byteSize, Arena arena) throws IOException {
        try (FileChannel channel = FileChannel.open(path, READ, WRITE)) {
            if (channel.size() < byteSize) {
                throw new IOException(
                        "%s has %d bytes, expected at least %d"
                                .formatted(path, channel.size(), byteSize));
            }
            return map(channel, byteSize, arena);
        }
    }

    /// Where the JVM permits it, the segment has the same class as native memory of the program: code
    /// that accesses both is smaller and faster if it meets one class.
    private static MemorySegment map(FileChannel channel, long byteSize, Arena arena)
            throws IOException {
        MemorySegment memory = channel.map(FileChannel.MapMode.READ_WRITE, 0, byteSize, arena);
        return SharedFile.class.getModule().isNativeAccessEnabled()
                ? memory.reinterpret(byteSize)
                : memory;
    }

    /// The path by which other processes of this host open the file.
    Path path() {
        return path;
    }

    /// The number of this file, for [#sibling].
    long number() {
        String file = path.getFileName().toString();
        return Long.parseLong(file.startsWith(PREFIX) ? file.substring(PREFIX.length()) : file);
    }

    /// The path of the file with `number`, created by the same process as the file at `path`.
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

    /// Removes the name. Called after all processes have mapped the file.
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
