package org.horovod4j.transport.shm;

import java.io.IOException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;

/// The file descriptors of this process, as listed by Linux.
///
/// A new file gets the lowest free number, which usually is the one after the last file's. [#find]
/// looks there first, because reading the whole list for each of thousands of files would take
/// minutes.
final class FileDescriptors {
    /// How many numbers after the last one are tried before the whole list is read.
    private static final int MAX_PROBES = 32;

    private final Path folder;
    private int lastNumber;

    /// @param folder a folder of symbolic links, named by descriptor number
    FileDescriptors(Path folder) {
        this.folder = folder;
    }

    static FileDescriptors ofThisProcess() {
        return new FileDescriptors(Path.of("/proc/self/fd"));
    }

    /// Whether this system has such a list.
    boolean isAvailable() {
        return Files.isDirectory(folder);
    }

    /// The descriptor of the open file whose link points to `target`.
    ///
    /// @throws NoSuchFileException if there is none
    synchronized int find(Path target) throws IOException {
        for (int number = lastNumber + 1; number <= lastNumber + MAX_PROBES; number++) {
            if (pointsTo(folder.resolve(Integer.toString(number)), target)) {
                lastNumber = number;
                return number;
            }
        }
        try (DirectoryStream<Path> links = Files.newDirectoryStream(folder)) {
            for (Path link : links) {
                if (pointsTo(link, target)) {
                    lastNumber = Integer.parseInt(link.getFileName().toString());
                    return lastNumber;
                }
            }
        }
        throw new NoSuchFileException(
                target.toString(), null, "no file descriptor in " + folder + " points to it");
    }

    private static boolean pointsTo(Path link, Path target) throws IOException {
        try {
            return Files.readSymbolicLink(link).equals(target);
        } catch (NoSuchFileException e) {
            return false; // not open, or just closed by another thread
        }
    }
}
