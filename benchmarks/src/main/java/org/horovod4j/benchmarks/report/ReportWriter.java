package org.horovod4j.benchmarks.report;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;

/// What becomes of the results of a run: a report is made of them, printed, and written as Markdown.
public final class ReportWriter {
    private ReportWriter() {}

    /// Makes the text of a report.
    @FunctionalInterface
    public interface Renderer {
        /// The whole text, as Markdown.
        ///
        /// @param machine where the results come from
        String render(List<Result> results, String machine);
    }

    /// Reads the results, and prints and writes what `report` makes of them.
    ///
    /// @param arguments of the program: RESULTS MARKDOWN, the file to read and the one to write
    public static void write(Renderer renderer, String... arguments) throws IOException {
        if (arguments.length != 2) {
            throw new IllegalArgumentException(
                    "arguments are RESULTS MARKDOWN, found " + List.of(arguments));
        }
        String text = renderer.render(Result.readAll(Path.of(arguments[0])), Machine.describe());
        System.out.println(text);
        Files.writeString(Path.of(arguments[1]), text);
    }
}
