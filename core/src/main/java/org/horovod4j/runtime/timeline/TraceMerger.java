package org.horovod4j.runtime.timeline;

import java.io.BufferedOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.io.PrintStream;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.UUID;
import java.util.stream.Stream;

/// Makes one trace of the files of several ranks, with all times on the clock of rank 0.
///
/// Events are copied as they are read, so a trace may be far larger than the memory.
public final class TraceMerger {
    private static final int FAILURE = 1;
    private static final int USAGE = 2;

    private TraceMerger() {}

    /// What a merge has found.
    ///
    /// @param events how many events were copied
    /// @param truncated files that ended in the middle, as when a process was killed while it wrote
    public record Summary(long events, List<Path> truncated) {
        public Summary {
            truncated = List.copyOf(truncated);
        }
    }

    /// Merges `files`, in any order, into `merged`, which appears when it is complete. Several
    /// ranks may do so at a time.
    ///
    /// @throws IOException when a file cannot be read or written, is no timeline, or is of a rank
    ///     that another file is of, too
    public static Summary merge(List<Path> files, Path merged) throws IOException {
        Map<Integer, Path> byRank = new TreeMap<>();
        long firstNanos = Long.MAX_VALUE;
        for (Path file : files) {
            TraceHeader header = header(file);
            int rank = header.owner().rank();
            Path other = byRank.put(rank, file);
            if (other != null) {
                throw new IOException(
                        "%s and %s are both of rank %d: give one file of each rank"
                                .formatted(other, file, rank));
            }
            firstNanos = Math.min(firstNanos, header.startNanosOfRankZero());
        }
        Path unfinished =
                merged.resolveSibling(
                        "%s.%s.part".formatted(merged.getFileName(), UUID.randomUUID()));
        try {
            Summary summary = copy(byRank.values(), unfinished, firstNanos);
            Files.move(unfinished, merged, StandardCopyOption.REPLACE_EXISTING);
            return summary;
        } finally {
            Files.deleteIfExists(unfinished);
        }
    }

    private static TraceHeader header(Path file) throws IOException {
        try (TraceReader reader = TraceReader.open(file)) {
            return reader.header();
        }
    }

    private static Summary copy(Iterable<Path> files, Path target, long firstNanos)
            throws IOException {
        List<Path> cut = new ArrayList<>();
        try (OutputStream out = new BufferedOutputStream(Files.newOutputStream(target))) {
            MergedTraceWriter merged = new MergedTraceWriter(out, firstNanos);
            for (Path file : files) {
                try (TraceReader reader = TraceReader.open(file)) {
                    merged.add(reader);
                    if (reader.isTruncated()) {
                        cut.add(file);
                    }
                }
            }
            merged.end();
            return new Summary(merged.events(), cut);
        }
    }

    /// Merges files that were copied from several hosts: `TraceMerger MERGED FILE…`.
    public static void main(String[] arguments) {
        System.exit(run(System.out, System.err, arguments));
    }

    /// Does what the arguments ask for, and gives the exit code.
    static int run(PrintStream out, PrintStream err, String... arguments) {
        if (arguments.length < 2 || arguments[0].startsWith("-")) {
            err.println(
                    """
                    usage: TraceMerger MERGED FILE...
                    Merges the timelines of several ranks, one FILE each, into the file MERGED.""");
            return USAGE;
        }
        Path merged = Path.of(arguments[0]);
        List<Path> files = Stream.of(arguments).skip(1).map(Path::of).toList();
        try {
            Summary summary = merge(files, merged);
            summary.truncated()
                    .forEach(file -> err.println(file + " ends early: its writer was killed"));
            out.printf("%s: %d events of %d ranks%n", merged, summary.events(), files.size());
            return 0;
        } catch (NoSuchFileException e) {
            err.println("cannot merge: there is no file or folder " + e.getFile());
            return FAILURE;
        } catch (IOException e) {
            err.println("cannot merge: " + e.getMessage());
            return FAILURE;
        }
    }
}
