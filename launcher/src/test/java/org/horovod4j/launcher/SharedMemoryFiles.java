package org.horovod4j.launcher;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashSet;
import java.util.Set;

/// The names of shared files on this machine at some moment.
///
/// Other jobs make such files too, but remove their names within moments: what counts is a name that came
/// after that moment and stays.
record SharedMemoryFiles(Set<String> before) {
    private static final Path FOLDER = Path.of("/dev/shm");

    /// What all names of ours begin with.
    static final String PREFIX = "horovod4j-";

    SharedMemoryFiles {
        before = Set.copyOf(before);
    }

    static SharedMemoryFiles present() {
        return new SharedMemoryFiles(names());
    }

    /// The names there are now that were not there then.
    Set<String> added() {
        Set<String> added = new HashSet<>(names());
        added.removeAll(before);
        return added;
    }

    private static Set<String> names() {
        Set<String> names = new HashSet<>();
        try (var files = Files.newDirectoryStream(FOLDER, PREFIX + "*")) {
            files.forEach(file -> names.add(file.toString()));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        return names;
    }
}
