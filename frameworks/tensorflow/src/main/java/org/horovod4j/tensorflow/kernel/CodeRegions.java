package org.horovod4j.tensorflow.kernel;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/// The functions of TensorFlow in the memory of this process.
///
/// @param regions of its libraries that can be executed
record CodeRegions(List<Region> regions) {
    private static final Path MAPS = Path.of("/proc/self/maps");
    private static final Pattern CODE =
            Pattern.compile("([0-9a-f]+)-([0-9a-f]+) r-xp .* (/.*/libtensorflow[^/]*)");

    record Region(long from, long to, Path library) {}

    /// The regions of this process; none on systems other than Linux.
    static CodeRegions ofTensorFlow() {
        if (!Files.isReadable(MAPS)) {
            return new CodeRegions(List.of());
        }
        try (Stream<String> lines = Files.lines(MAPS)) {
            return new CodeRegions(
                    lines.map(CODE::matcher)
                            .filter(Matcher::matches)
                            .map(
                                    line ->
                                            new Region(
                                                    Long.parseUnsignedLong(line.group(1), 16),
                                                    Long.parseUnsignedLong(line.group(2), 16),
                                                    Path.of(line.group(3))))
                            .toList());
        } catch (IOException e) {
            throw new UncheckedIOException("reading " + MAPS, e);
        }
    }

    boolean contains(long address) {
        return regions.stream().anyMatch(region -> region.from <= address && address < region.to);
    }

    /// The ELF build ID of the library with this name; empty if it is not loaded, or its file cannot be
    /// read or has none.
    Optional<String> buildId(String name) {
        return regions.stream()
                .map(Region::library)
                .filter(library -> library.endsWith(name))
                .findFirst()
                .flatMap(
                        library -> {
                            try {
                                return ElfBuildId.of(library);
                            } catch (IOException _) { // for example, it was deleted meanwhile
                                return Optional.empty();
                            }
                        });
    }
}
