package org.horovod4j.benchmarks.report;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;

/// Makes a report from the results of a run, prints it, and writes it as Markdown.
public final class ReportWriter {
    private ReportWriter() {}

    /// Makes the text of a report.
    @FunctionalInterface
    public interface Renderer {
        /// The whole text, as Markdown.
        ///
        /// @param machine the machine that produced the results
        String render(List<Result> results, String machine);
    }

    /// Reads the results, and prints and writes the report.
    ///
    /// @param arguments of the program: RESULTS MARKDOWN, the file to read and the file to write
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
