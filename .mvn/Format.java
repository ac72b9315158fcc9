import com.google.googlejavaformat.java.Main;

import java.io.PrintWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Stream;

/// Runs google-java-format over the sources of all modules.
///
/// The argument `check` lists the files that are not formatted and fails; `replace` formats them.
class Format {
    private static final List<String> OPTIONS =
            List.of(
                    "--aosp",
                    // It would lose the hard line breaks of Markdown.
                    "--skip-javadoc-formatting",
                    // It would end text blocks with an escaped line break.
                    "--skip-reflowing-long-strings");

    static void main(String[] arguments) throws Exception {
        boolean check = arguments[0].equals("check");
        List<String> mode =
                check ? List.of("--dry-run", "--set-exit-if-changed") : List.of("--replace");
        List<String> sources;
        try (Stream<Path> files = Files.walk(Path.of(""))) {
            sources = files.map(Path::toString).filter(Format::isSource).sorted().toList();
        }
        String[] all =
                Stream.of(mode, OPTIONS, sources).flatMap(List::stream).toArray(String[]::new);
        PrintWriter out = new PrintWriter(System.out, true);
        PrintWriter err = new PrintWriter(System.err, true);
        int status = new Main(out, err, System.in).format(all);
        if (check && status != 0) {
            err.println("The files above are not formatted. Run ./mvnw -N -Pformat");
        }
        System.exit(status);
    }

    private static boolean isSource(String path) {
        return path.matches("(?!.*(^|/)target/).*/src/(main|test)/java/.*\\.java");
    }
}
