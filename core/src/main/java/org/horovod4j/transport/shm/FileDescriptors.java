package org.horovod4j.transport.shm;

import java.io.IOException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;

/// The open files of this process by number, as Linux lists them.
///
/// A new file gets the lowest number that is free, which mostly is the one after the last file's.
/// So that is where to look first: to go through all of them for each of thousands of files would
/// take minutes.
final class FileDescriptors {
    /// How many other files may have been opened since, before the whole list is looked through.
    private static final int MAX_PROBES = 32;

    private final Path folder;
    private int lastNumber;

    /// @param folder of links, named by number
    FileDescriptors(Path folder) {
        this.folder = folder;
    }

    static FileDescriptors ofThisProcess() {
        return new FileDescriptors(Path.of("/proc/self/fd"));
    }

    /// Whether this system lists them at all.
    boolean isAvailable() {
        return Files.isDirectory(folder);
    }

    /// The number of a file that is open, and whose link shows `target`.
    ///
    /// @throws NoSuchFileException when there is none
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
        throw new NoSuchFileException(target.toString(), null, "it has no descriptor in " + folder);
    }

    private static boolean pointsTo(Path link, Path target) throws IOException {
        try {
            return Files.readSymbolicLink(link).equals(target);
        } catch (NoSuchFileException e) {
            return false; // not open, or another thread closed it in the meantime
        }
    }
}
