package org.horovod4j.examples;

import static org.assertj.core.api.Assertions.assertThat;

import org.horovod4j.launcher.HorovodRun;
import org.horovod4j.testsupport.TestJvm;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

import java.io.File;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.regex.MatchResult;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/// Compiles and runs the programs of `docs/kotlin-scala.md`, and compiles the one of `docs/spark.md`.
///
/// The profile `slow` puts both compilers on the class path of the tests.
@Tag("slow")
class OtherLanguagesIT {
    private static final Path PAGE = Path.of("../docs/kotlin-scala.md");
    private static final Pattern COMMAND =
            Pattern.compile(
                    """
                    (?sx) ```console\\n
                    \\$\\ (?: horovodrun\\ -np\\ (?<ranks>\\d+)\\ )?
                    java\\ -cp\\ "\\$CLASSPATH"\\ (?<main>\\w+) \\n
                    (?<output> .*? ) ```\
                    """);

    enum Language {
        KOTLIN(
                "org.jetbrains.kotlin.cli.jvm.K2JVMCompiler",
                "-no-stdlib -no-reflect -jvm-target 25"),
        SCALA("dotty.tools.dotc.Main", "-color never");

        private final String compiler;
        private final String flags;

        Language(String compiler, String flags) {
            this.compiler = compiler;
            this.flags = flags;
        }

        /// The name of this language in the first line of a block.
        private String fence() {
            return name().toLowerCase(Locale.ROOT);
        }

        /// The part of the page about this language.
        private String section() throws IOException {
            Matcher section =
                    Pattern.compile("(?msi)^## %s\\n.*?(?=^## |\\z)".formatted(name()))
                            .matcher(Files.readString(PAGE));
            assertThat(section.find()).as("section of the page about %s", this).isTrue();
            return section.group();
        }

        /// The blocks of a text that begin with the name of a file.
        private List<MatchResult> blocks(String text) {
            return Pattern.compile("(?s)```%s\\n// (\\S+)\\n(.*?)```".formatted(fence()))
                    .matcher(text)
                    .results()
                    .toList();
        }
    }

    @TempDir private Path folder;

    @ParameterizedTest
    @EnumSource
    void programsOfThePagePrintWhatItShows(Language language) throws Exception {
        List<MatchResult> blocks = language.blocks(language.section());
        assertThat(blocks).hasSizeGreaterThan(1);
        Path classes = compile(language, blocks);
        String classPath = TestJvm.CLASS_PATH + File.pathSeparator + classes;

        List<MatchResult> commands = COMMAND.matcher(language.section()).results().toList();
        assertThat(commands).hasSize(2);
        for (MatchResult command : commands) {
            List<String> words = new ArrayList<>();
            if (command.group("ranks") != null) {
                words.addAll(TestJvm.of(HorovodRun.class).shortLived().words());
                words.addAll(List.of("-np", command.group("ranks")));
            }
            words.addAll(program(command.group("main"), classPath).words());
            assertThat(run(words).lines()).containsAll(command.group("output").lines().toList());
        }
    }

    /// Programs of Scala use Spark's estimators as Java does.
    @Test
    void estimatorOfThePageAboutSparkCompiles() throws Exception {
        List<MatchResult> blocks =
                Language.SCALA.blocks(Files.readString(Path.of("../docs/spark.md")));
        assertThat(blocks).hasSize(1);
        assertThat(compile(Language.SCALA, blocks)).isDirectoryContaining("glob:**.class");
    }

    private Path compile(Language language, List<MatchResult> blocks) throws Exception {
        Path classes = Files.createDirectory(folder.resolve("classes"));
        List<String> arguments = new ArrayList<>(List.of(language.flags.split(" ", -1)));
        arguments.addAll(List.of("-classpath", TestJvm.CLASS_PATH, "-d", classes.toString()));
        for (MatchResult block : blocks) {
            Path source = Files.writeString(folder.resolve(block.group(1)), block.group(2));
            arguments.add(source.toString());
        }
        run(
                new TestJvm(List.of(), TestJvm.CLASS_PATH, language.compiler, arguments)
                        .with("-XX:TieredStopAtLevel=1", "--enable-native-access=ALL-UNNAMED")
                        .words());
        return classes;
    }

    private static TestJvm program(String main, String classPath) {
        return new TestJvm(List.of(), classPath, main, List.of())
                .with("--enable-native-access=ALL-UNNAMED", "-XX:TieredStopAtLevel=1");
    }

    /// What a command prints. It must succeed.
    private static String run(List<String> command) throws IOException, InterruptedException {
        Process process = new ProcessBuilder(command).redirectErrorStream(true).start();
        String output = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        assertThat(process.waitFor()).as(output).isZero();
        return output;
    }
}
