package org.horovod4j.testsupport;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.HashSet;
import java.util.List;
import java.util.Set;

/// The names of shared-memory files at the moment of a snapshot.
///
/// Other jobs on this machine create such files too, but remove the names at once. A file that a job
/// leaves behind is one that [#added] still lists after a while.
///
/// @param before the names at that moment
public record SharedMemoryFiles(Set<Path> before) {
    /// The prefix of all names.
    public static final String PREFIX = "horovod4j-";

    /// A rank falls back to the second when it cannot use the first.
    private static final List<Path> FOLDERS =
            List.of(Path.of("/dev/shm"), Path.of(System.getProperty("java.io.tmpdir")));

    public SharedMemoryFiles {
        before = Set.copyOf(before);
    }

    public static SharedMemoryFiles snapshot() {
        return new SharedMemoryFiles(names());
    }

    /// The names that exist now and did not exist at the snapshot.
    public Set<Path> added() {
        Set<Path> added = names();
        added.removeAll(before);
        return added;
    }

    private static Set<Path> names() {
        Set<Path> names = new HashSet<>();
        for (Path folder : FOLDERS) {
            if (!Files.isDirectory(folder)) {
                continue;
            }
            try (var files = Files.newDirectoryStream(folder, PREFIX + "*")) {
                for (Path file : files) {
                    if (!isEmptyOrGone(file)) {
                        names.add(file);
                    }
                }
            } catch (IOException e) {
                throw new UncheckedIOException("listing " + folder, e);
            }
        }
        return names;
    }

    /// A process that is killed right after it has created a file leaves an empty file behind.
    private static boolean isEmptyOrGone(Path file) throws IOException {
        try {
            return Files.size(file) == 0;
        } catch (NoSuchFileException e) {
            return true;
        }
    }
}
