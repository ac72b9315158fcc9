package org.horovod4j.examples;

import static org.assertj.core.api.Assertions.assertThat;

import org.horovod4j.testsupport.TestJvm;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/// Compares tables of `docs` that name our classes and methods with the classes themselves.
class ReferenceTablesTest {
    private static final Path DOCS = Path.of("../docs");

    /// The last cell of a row: on pages that compare, the Java side.
    private static final Pattern LAST_COLUMN = Pattern.compile("(?m)^\\|.*\\|([^|]*)\\|$");

    private static final Pattern MEMBER = Pattern.compile("`([A-Z]\\w+)\\.([a-zA-Z]\\w*)");

    /// Classes, their package and their artifact.
    private static final Pattern PACKAGE_ROW =
            Pattern.compile("(?m)^\\| (`[A-Z][^|]*`) \\| `(org\\.horovod4j[^`]*)` \\| (\\w+) \\|$");

    private static final List<String> PACKAGES =
            List.of(
                    "org.horovod4j",
                    "org.horovod4j.compression",
                    "org.horovod4j.data",
                    "org.horovod4j.djl",
                    "org.horovod4j.djl.elastic",
                    "org.horovod4j.elastic",
                    "org.horovod4j.launcher",
                    "ai.djl",
                    "ai.djl.training");

    @ParameterizedTest
    @ValueSource(strings = {"coming-from-horovod.md", "coming-from-pytorch-ddp.md"})
    void everyMethodExists(String page) throws IOException {
        List<MatchResult> members =
                LAST_COLUMN
                        .matcher(Files.readString(DOCS.resolve(page)))
                        .results()
                        .flatMap(cell -> MEMBER.matcher(cell.group(1)).results())
                        .toList();
        assertThat(members).hasSizeGreaterThan(20);
        for (MatchResult member : members) {
            String type = member.group(1);
            assertThat(PACKAGES.stream().flatMap(each -> find(each + "." + type).stream()))
                    .as(member.group())
                    .anyMatch(found -> hasMember(found, member.group(2)));
        }
    }

    @Test
    void everyClassIsInThePackageThatTheInstallationPageGives() throws IOException {
        List<MatchResult> rows =
                PACKAGE_ROW
                        .matcher(Files.readString(DOCS.resolve("install.md")))
                        .results()
                        .toList();
        assertThat(rows).hasSizeGreaterThan(10);
        for (MatchResult row : rows) {
            for (String type : row.group(1).replace("`", "").split(", ", -1)) {
                assertThat(find(row.group(2) + "." + type))
                        .as("%s in %s", type, row.group(2))
                        .hasValueSatisfying(
                                found -> {
                                    assertThat(found).isPublic();
                                    assertThat(TestJvm.location(found).toString())
                                            .contains(row.group(3));
                                });
            }
        }
    }

    private static Optional<Class<?>> find(String name) {
        try {
            return Optional.of(
                    Class.forName(name, false, ReferenceTablesTest.class.getClassLoader()));
        } catch (ClassNotFoundException e) {
            return Optional.empty();
        }
    }

    private static boolean hasMember(Class<?> type, String name) {
        return Stream.concat(Stream.of(type.getMethods()), Stream.of(type.getFields()))
                .anyMatch(member -> member.getName().equals(name));
    }
}
