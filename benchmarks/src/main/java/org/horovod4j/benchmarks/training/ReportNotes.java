package org.horovod4j.benchmarks.training;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.List;

/// What a report says beside its figures, a line for each job: in a file next to the results, which are
/// numbers alone.
public final class ReportNotes {
    private ReportNotes() {}

    private static Path notesFile(Path results) {
        return results.resolveSibling(results.getFileName() + ".notes");
    }

    /// Adds a line to what the jobs before have left there.
    public static void append(Path results, String line) throws IOException {
        Files.writeString(
                notesFile(results),
                line + "\n",
                StandardOpenOption.CREATE,
                StandardOpenOption.APPEND);
    }

    /// All lines; none where no job had something to say.
    static List<String> readAll(Path results) throws IOException {
        Path notes = notesFile(results);
        return Files.exists(notes) ? Files.readAllLines(notes) : List.of();
    }
}
