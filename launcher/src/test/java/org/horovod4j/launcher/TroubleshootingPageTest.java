package org.horovod4j.launcher;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestFactory;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/// Holds `docs/troubleshooting.md` to the words of today's code: what its tables quote as messages is put
/// together from texts of the sources.
class TroubleshootingPageTest {
    private static final Path ROOT = Path.of("..").toAbsolutePath().normalize();

    private static final Pattern QUOTED = Pattern.compile("`([^`]+)`");

    /// What stands for something else each time.
    private static final Pattern EXAMPLE = Pattern.compile("'[^']*'|…");

    /// Numbers, names and words that messages take in are not in the sources; the rest mostly is.
    private static final double LEAST_SHARE = 0.4;

    private static final int FEWEST_WORDS = 4;

    /// Of picocli, which reads the flags.
    private static final List<String> WORDS_OF_OTHERS =
            List.of("option '--x' should be specified only once");

    private static final String SOURCES = sources();

    private static String sources() {
        return Stream.of("core/src/main", "launcher/src/main")
                .map(ROOT::resolve)
                .flatMap(TroubleshootingPageTest::files)
                .map(TroubleshootingPageTest::read)
                .collect(Collectors.joining("\n"))
                .replaceAll("\"\\s*\\+\\s*\"", "")
                .replaceAll("\\\\\n\\s*", "")
                .replaceAll("\\s+", " ");
    }

    private static Stream<Path> files(Path folder) {
        try (Stream<Path> files = Files.walk(folder)) {
            return files.filter(Files::isRegularFile).toList().stream();
        } catch (IOException e) {
            throw new AssertionError(e);
        }
    }

    private static String read(Path file) {
        try {
            return Files.readString(file);
        } catch (IOException e) {
            throw new AssertionError(e);
        }
    }

    @TestFactory
    Stream<DynamicTest> eachMessageIsSaidByTheSources() {
        return read(ROOT.resolve("docs/troubleshooting.md"))
                .lines()
                .filter(line -> line.startsWith("| "))
                .map(TroubleshootingPageTest::messages)
                .flatMap(cell -> QUOTED.matcher(cell).results().map(found -> found.group(1)))
                .filter(message -> words(message).size() >= FEWEST_WORDS)
                .filter(message -> !WORDS_OF_OTHERS.contains(message))
                .distinct()
                .map(
                        message ->
                                DynamicTest.dynamicTest(
                                        message,
                                        () ->
                                                assertThat(shareInSources(message))
                                                        .isGreaterThanOrEqualTo(LEAST_SHARE)));
    }

    @Test
    void aMessageThatNobodySaysIsNoticed() {
        assertThat(shareInSources("the penguin 'x' has eaten 3 fish of host node1"))
                .isLessThan(LEAST_SHARE);
    }

    /// The cell of a row that has the messages: the first, but the third where errors are numbered.
    private static String messages(String row) {
        List<String> cells = List.of(row.substring(2).split(" \\| ", -1));
        return cells.get(cells.getFirst().startsWith("E-") ? 2 : 0);
    }

    private static List<String> words(String message) {
        return Arrays.stream(EXAMPLE.matcher(message).replaceAll(" ").split(" "))
                .filter(word -> !word.isEmpty())
                .toList();
    }

    /// Which part of the words belongs to runs of two and more that the sources have too.
    private static double shareInSources(String message) {
        List<String> words = words(message);
        int found = 0;
        int from = 0;
        while (from < words.size()) {
            int run = longestRun(words, from);
            found += run;
            from += Math.max(1, run);
        }
        return (double) found / words.size();
    }

    private static int longestRun(List<String> words, int from) {
        for (int to = words.size(); to - from >= 2; to--) {
            if (SOURCES.contains(String.join(" ", words.subList(from, to)))) {
                return to - from;
            }
        }
        return 0;
    }
}
