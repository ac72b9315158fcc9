package org.horovod4j.benchmarks.training;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.List;

/// The notes of a report, one line for each job. They are in a file next to the results, which
/// contain only numbers.
public final class ReportNotes {
    private ReportNotes() {}

    private static Path notesFile(Path results) {
        return results.resolveSibling(results.getFileName() + ".notes");
    }

    /// Appends a line to the notes of earlier jobs.
    public static void append(Path results, String line) throws IOException {
        Files.writeString(
                notesFile(results),
                line + "\n",
                StandardOpenOption.CREATE,
                StandardOpenOption.APPEND);
    }

    /// All lines, or none if no job wrote a note.
    static List<String> readAll(Path results) throws IOException {
        Path notes = notesFile(results);
        return Files.exists(notes) ? Files.readAllLines(notes) : List.of();
    }
}
