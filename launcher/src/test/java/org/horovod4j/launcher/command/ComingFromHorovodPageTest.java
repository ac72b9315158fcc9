package org.horovod4j.launcher.command;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatCode;

import org.horovod4j.option.Environment;
import org.junit.jupiter.api.Test;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/// Compares the flags and variables of `docs/coming-from-horovod.md` with those that are understood.
class ComingFromHorovodPageTest {
    private static final Path PAGE = Path.of("../docs/coming-from-horovod.md");

    /// Flags and variables of Horovod are in the first column.
    private static final Pattern FIRST_COLUMN = Pattern.compile("(?m)^\\| (`[^|]*) \\|");

    private static final Pattern WORD = Pattern.compile("`([^`]+)`");

    @Test
    void everyFlagIsUnderstood() throws IOException {
        List<String> flags = firstColumn("Flags of horovodrun");
        assertThat(flags).hasSizeGreaterThan(60).allMatch(flag -> flag.startsWith("-"));
        assertThat(CommandLineSpec.forParsing().getCommandSpec().optionsMap().keySet())
                .containsAll(flags);
    }

    @Test
    void everyVariableIsKnown() throws IOException {
        List<String> variables = firstColumn("Variables");
        assertThat(variables).hasSizeGreaterThan(40).allMatch(name -> name.contains("HOROVOD_"));
        for (String variable : variables) {
            assertThatCode(new Environment(Map.of(variable, "1"))::checkKnown)
                    .as(variable)
                    .doesNotThrowAnyException();
        }
    }

    private static List<String> firstColumn(String title) throws IOException {
        Matcher section =
                Pattern.compile("(?ms)^## %s\\n.*?(?=^## |\\z)".formatted(title))
                        .matcher(Files.readString(PAGE));
        assertThat(section.find()).as("section '%s'", title).isTrue();
        return FIRST_COLUMN
                .matcher(section.group())
                .results()
                .flatMap(cell -> words(cell.group(1)))
                .toList();
    }

    private static Stream<String> words(String cell) {
        return WORD.matcher(cell).results().map(word -> word.group(1));
    }
}
