package org.horovod4j.process;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;

/// The names of shared files that were there at some moment.
///
/// Other jobs of this machine make such files too, but remove their names within moments: what
/// counts is a name that came after that moment and stays.
record SharedFiles(Set<Path> before) {
    private static final List<Path> FOLDERS =
            List.of(Path.of("/dev/shm"), Path.of(System.getProperty("java.io.tmpdir")));

    SharedFiles {
        before = Set.copyOf(before);
    }

    static SharedFiles snapshot() {
        return new SharedFiles(Set.copyOf(list()));
    }

    /// The names there are now that were not there then.
    Set<Path> added() {
        Set<Path> added = new HashSet<>(list());
        added.removeAll(before);
        return added;
    }

    private static List<Path> list() {
        List<Path> found = new ArrayList<>();
        for (Path folder : FOLDERS) {
            if (!Files.isDirectory(folder)) {
                continue;
            }
            try (var names = Files.newDirectoryStream(folder, "horovod4j-*")) {
                names.forEach(found::add);
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        }
        return found;
    }
}
