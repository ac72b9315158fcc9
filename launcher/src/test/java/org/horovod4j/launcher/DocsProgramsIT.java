package org.horovod4j.launcher;

import static org.assertj.core.api.Assertions.assertThat;

import org.horovod4j.testsupport.SlowCases;
import org.horovod4j.testsupport.TestJvm;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;

import javax.tools.ToolProvider;

/// Runs the programs of the pages in `docs` by the commands next to them. Every line that a page
/// shows must appear. The modules of frameworks test their own pages.
class DocsProgramsIT {
    private static final Path DOCS = Path.of("../docs");

    /// A program, the command that runs it, and its expected output.
    private static final Pattern PROGRAM =
            Pattern.compile(
                    """
                    (?sx) ```java\\n (?<source> (?: (?!```) . )*? void\\ main\\( (?: (?!```) . )* ) ```
                    (?: (?!```java) . )*?
                    ```console\\n \\$\\ \\./horovodrun\\ (?<flags> [^\\n]*?)
                    \\ java\\ -cp\\ core/target/\\S+\\.jar\\ (?<file> \\w+\\.java) \\n
                    (?<output> .*? ) ```\
                    """);

    @TempDir Path folder;

    record Program(String page, String file, String source, List<String> flags, String output) {
        @Override
        public String toString() {
            return page + ": " + file;
        }
    }

    static List<Program> programs() throws IOException {
        List<Program> programs = new ArrayList<>();
        try (Stream<Path> pages = Files.list(DOCS)) {
            for (Path page :
                    pages.filter(file -> file.toString().endsWith(".md")).sorted().toList()) {
                Matcher matcher = PROGRAM.matcher(Files.readString(page));
                while (matcher.find()) {
                    programs.add(
                            new Program(
                                    page.getFileName().toString(),
                                    matcher.group("file"),
                                    matcher.group("source"),
                                    List.of(matcher.group("flags").split(" ")),
                                    matcher.group("output")));
                }
            }
        }
        return programs;
    }

    @Test
    void pagesHavePrograms() throws IOException {
        assertThat(programs())
                .extracting(Program::file)
                .contains(
                        "Hello.java", "Fusion.java", "Allocated.java", "Sets.java", "Uneven.java");
    }

    @ParameterizedTest
    @MethodSource("programs")
    void printsWhatThePageShows(Program program) throws Exception {
        Path source = Files.writeString(folder.resolve(program.file()), program.source());
        List<String> command = new ArrayList<>(program.flags());
        command.addAll(
                SlowCases.ENABLED || program.file().equals("Hello.java")
                        ? List.of("java", "-cp", TestJvm.CLASS_PATH, source.toString())
                        : compiled(source));
        try (LauncherProcess launcher = LauncherProcess.start(command.toArray(String[]::new))) {
            assertThat(launcher.exitCode()).as(launcher.stderr()).isZero();
            assertThat(withoutTimes(launcher.stdout() + launcher.stderr()))
                    .containsAll(withoutTimes(program.output()));
        }
    }

    /// A command that runs a program compiled here. As in the page, each rank would compile it again.
    private List<String> compiled(Path source) {
        int code =
                ToolProvider.getSystemJavaCompiler()
                        .run(
                                null,
                                System.out,
                                System.err,
                                "-cp",
                                TestJvm.CLASS_PATH,
                                "-d",
                                folder.toString(),
                                source.toString());
        assertThat(code).as("exit code of javac for " + source).isZero();
        return TestCommands.rank(folder, source.getFileName().toString().replace(".java", ""))
                .words();
    }

    /// The lines, without what differs between runs.
    private static List<String> withoutTimes(String output) {
        return output.lines()
                .map(line -> line.replaceAll("\\[\\d{4}-\\d\\d-\\d\\d [^,]*,", "[time,"))
                .map(line -> line.replaceAll("\\d+(\\.\\d+)? s\\b", "some s"))
                .map(line -> line.replaceAll("\\d+ (waits|while)", "some $1"))
                .toList();
    }
}
