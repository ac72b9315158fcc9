package org.horovod4j.runtime.timeline;

import org.jspecify.annotations.Nullable;

import java.io.BufferedInputStream;
import java.io.BufferedOutputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.UUID;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/// Makes one trace of the files of several ranks.
///
/// Each rank tags its events with its rank and writes times on the clock of rank 0, one event per
/// line. So merging is concatenation: no event is parsed, and a trace may be far larger than the
/// memory.
public final class TraceMerger {
    private static final int FAILURE = 1;
    private static final int USAGE = 2;

    /// The first event of a file, as [TraceEventWriter#begin()] writes it.
    private static final Pattern HEADER =
            Pattern.compile(
                    "\\{\"name\":\"process_name\",\"ph\":\"M\",\"pid\":[0-9]+,.*"
                            + "\"rank\":([0-9]{1,9}),\"clock_offset_nanos\":-?[0-9]+\\}\\},?");

    private TraceMerger() {}

    /// The result of a merge.
    ///
    /// @param events the number of events copied
    /// @param truncated files that end early, because a process was killed while it wrote
    public record Summary(long events, List<Path> truncated) {
        public Summary {
            truncated = List.copyOf(truncated);
        }
    }

    /// Merges `files`, in any order, into `merged`, which appears when it is complete. Several
    /// ranks may do so at the same time.
    ///
    /// @throws IOException when a file cannot be read or written, is not a timeline, or when two
    ///     files are of the same rank
    public static Summary merge(List<Path> files, Path merged) throws IOException {
        Map<Integer, Path> byRank = new TreeMap<>();
        for (Path file : files) {
            int rank = rank(file);
            Path other = byRank.put(rank, file);
            if (other != null) {
                throw new IOException(
                        "%s and %s are both of rank %d: give one file of each rank"
                                .formatted(other, file, rank));
            }
        }
        Path unfinished =
                merged.resolveSibling(
                        "%s.%s.part".formatted(merged.getFileName(), UUID.randomUUID()));
        try {
            Summary summary = concatenate(byRank.values(), unfinished);
            Files.move(unfinished, merged, StandardCopyOption.REPLACE_EXISTING);
            return summary;
        } finally {
            Files.deleteIfExists(unfinished);
        }
    }

    private static int rank(Path file) throws IOException {
        try (Lines lines = new Lines(file)) {
            byte[] opening = lines.next();
            byte[] header = lines.next();
            if (opening != null && header != null && isOpening(opening)) {
                Matcher matcher = HEADER.matcher(new String(header, StandardCharsets.UTF_8));
                if (matcher.matches()) {
                    return Integer.parseInt(matcher.group(1));
                }
            }
        }
        throw new IOException(
                "%s is not the timeline of a rank: it does not begin with a header"
                        .formatted(file));
    }

    private static boolean isOpening(byte[] line) {
        return line.length == 1 && line[0] == '[';
    }

    private static Summary concatenate(Iterable<Path> files, Path target) throws IOException {
        List<Path> truncated = new ArrayList<>();
        long events = 0;
        try (OutputStream out = new BufferedOutputStream(Files.newOutputStream(target))) {
            out.write('[');
            for (Path file : files) {
                try (Lines lines = new Lines(file)) {
                    byte[] line = lines.next();
                    for (line = lines.next(); line != null && isEvent(line); line = lines.next()) {
                        boolean comma = line[line.length - 1] == ',';
                        out.write(events == 0 ? '\n' : ',');
                        if (events > 0) {
                            out.write('\n');
                        }
                        out.write(line, 0, comma ? line.length - 1 : line.length);
                        events++;
                    }
                    if (line == null || line.length != 1 || line[0] != ']') {
                        truncated.add(file);
                    }
                }
            }
            out.write("\n]\n".getBytes(StandardCharsets.US_ASCII));
        }
        return new Summary(events, truncated);
    }

    private static boolean isEvent(byte[] line) {
        if (line.length < 2 || line[0] != '{') {
            return false;
        }
        int end = line[line.length - 1] == ',' ? line.length - 2 : line.length - 1;
        return line[end] == '}';
    }

    /// The complete lines of a file. A last line without a line feed was cut off.
    private static final class Lines implements AutoCloseable {
        private final InputStream in;
        private final ByteArrayOutputStream line = new ByteArrayOutputStream();

        Lines(Path file) throws IOException {
            this.in = new BufferedInputStream(Files.newInputStream(file));
        }

        byte @Nullable [] next() throws IOException {
            line.reset();
            for (int c = in.read(); c >= 0; c = in.read()) {
                if (c == '\n') {
                    return line.toByteArray();
                }
                line.write(c);
            }
            return null;
        }

        @Override
        public void close() throws IOException {
            in.close();
        }
    }

    /// Merges files that were copied from several hosts: `TraceMerger MERGED FILE…`.
    public static void main(String[] arguments) {
        System.exit(run(System.out, System.err, arguments));
    }

    /// Runs the command and returns its exit code.
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
