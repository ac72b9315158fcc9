package org.horovod4j.launcher.process;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.horovod4j.ConfigurationException;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;

class SearchPathTest {
    @TempDir Path root;
    private Path first;
    private Path second;

    @BeforeEach
    void folders() throws IOException {
        first = Files.createDirectory(root.resolve("first"));
        second = Files.createDirectory(root.resolve("second"));
    }

    private SearchPath path() {
        return SearchPath.of(first + ":" + second);
    }

    private static Path program(Path file, boolean executable) throws IOException {
        Files.writeString(file, "#!/bin/sh\n");
        assertThat(file.toFile().setExecutable(executable)).isTrue();
        return file;
    }

    @Test
    void firstExecutableFileIsFound() throws IOException {
        program(first.resolve("train"), false);
        Path expected = program(second.resolve("train"), true);
        assertThat(path().find("train")).isEqualTo(expected);
    }

    @Test
    void missingCommandIsNamedWithAllFolders() {
        assertThatThrownBy(() -> path().find("trian"))
                .isInstanceOf(ConfigurationException.class)
                .hasMessageContainingAll("'trian'", first.toString(), second.toString());
    }

    @Test
    void commandWithSlashIsNotSearchedFor() throws IOException {
        program(first.resolve("train"), true);
        assertThatThrownBy(() -> path().find("./train"))
                .hasMessageContaining("not found, seen from");
    }

    @Test
    void nonExecutableFileIsReported() throws IOException {
        Path file = program(first.resolve("train"), false);
        assertThatThrownBy(() -> path().find(file.toString())).hasMessageContaining("chmod +x");
    }

    @Test
    void folderIsRejected() {
        assertThatThrownBy(() -> path().find(first.toString())).hasMessageContaining("is a folder");
    }

    @Test
    void emptyPartOfPathIsCurrentFolder() {
        assertThat(SearchPath.of("/bin::").folders())
                .containsExactly(Path.of("/bin"), Path.of("."), Path.of("."));
    }
}
