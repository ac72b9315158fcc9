package org.horovod4j.testsupport;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.Objects;
import java.util.Set;

class SourceRulesTest {
    @TempDir Path repository;

    @Test
    void findsSimpleNamesThatTwoModulesUse() throws IOException {
        write("one/src/main/java/a/Link.java", "");
        write("two/src/main/java/b/Link.java", "");
        write("two/src/main/java/b/Frame.java", "");
        write("two/src/test/java/a/Frame.java", "");
        assertThat(SourceRules.of(repository).ambiguousNames())
                .isEqualTo(Map.of("Link", Set.of("a", "b")));
    }

    @Test
    void findsNamesOfPublicJdkTypes() throws IOException {
        write("one/src/main/java/a/Objects.java", "");
        write("one/src/main/java/a/Path.java", "");
        write("one/src/main/java/a/Terminator.java", ""); // java.lang has it, but not public
        write("one/src/main/java/a/Tensor.java", "");
        assertThat(SourceRules.of(repository).namesOfTheJdk())
                .containsExactly("a.Objects", "a.Path");
    }

    @Test
    void findsPackagesWithoutDocumentation() throws IOException {
        write("one/src/main/java/module-info.java", "module one {}");
        write("one/src/main/java/a/A.java", "");
        write("one/src/main/java/a/package-info.java", "/// Text.\npackage a;\n");
        write("one/src/main/java/a/b/B.java", "");
        write("one/src/main/java/a/b/package-info.java", "package a.b;\n");
        write("one/src/main/java/a/c/C.java", "");
        assertThat(SourceRules.of(repository).packagesWithoutDocumentation())
                .containsExactly("a.b", "a.c");
    }

    private void write(String file, String text) throws IOException {
        Path path = repository.resolve(file);
        Files.createDirectories(Objects.requireNonNull(path.getParent()));
        Files.writeString(path, text);
    }
}
