package org.horovod4j.libtorch;

import static java.nio.charset.StandardCharsets.ISO_8859_1;
import static java.nio.charset.StandardCharsets.UTF_8;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Stream;

/// The copies of a library that this process has loaded.
final class LoadedCopies {
    private static final Path MAPPINGS = Path.of("/proc/self/maps");

    /// Two copies of libtorch share the names of their functions and would call each other.
    private static final String ADVICE =
            """
            The copies would call each other's functions. Use one Java binding of PyTorch in a process: DJL's \
            engine PyTorch, or org.bytedeco:pytorch.""";

    private LoadedCopies() {}

    /// @param name the file name of a library
    /// @throws IllegalStateException when more than one file with this name is loaded
    static void requireOne(String name) {
        List<String> copies = of(name);
        if (copies.size() > 1) {
            throw new IllegalStateException(
                    "this process has loaded libtorch more than once: %s\n%s"
                            .formatted(String.join(", ", copies), ADVICE));
        }
    }

    /// @param name the file name of a library
    /// @param folder where its copies are allowed
    /// @throws IllegalStateException when a file with this name is loaded that is not in the folder
    static void requireNoneOutside(String name, Path folder) {
        List<String> others =
                of(name).stream().filter(each -> !each.startsWith(folder + "/")).toList();
        if (!others.isEmpty()) {
            throw new IllegalStateException(
                    "this process has already loaded another libtorch: %s\n%s"
                            .formatted(String.join(", ", others), ADVICE));
        }
    }

    /// Empty on systems without `/proc`. Names of other files need not be UTF-8, so lines are decoded as
    /// Latin-1, which has all bytes, and the names that are found as UTF-8.
    private static List<String> of(String name) {
        if (!Files.isReadable(MAPPINGS)) {
            return List.of();
        }
        try (Stream<String> lines = Files.lines(MAPPINGS, ISO_8859_1)) {
            return lines.filter(line -> line.endsWith("/" + name))
                    .map(line -> line.substring(line.indexOf('/')))
                    .map(path -> new String(path.getBytes(ISO_8859_1), UTF_8))
                    .distinct()
                    .sorted()
                    .toList();
        } catch (IOException e) {
            throw new IllegalStateException("cannot read " + MAPPINGS, e);
        }
    }
}
