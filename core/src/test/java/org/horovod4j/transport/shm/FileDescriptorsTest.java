package org.horovod4j.transport.shm;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;

class FileDescriptorsTest {
    private static final Path OTHER = Path.of("/other");
    private static final Path SHARED = Path.of("/shared (deleted)");

    @TempDir private Path folder;

    private void open(int number, Path target) throws IOException {
        Files.createSymbolicLink(folder.resolve(Integer.toString(number)), target);
    }

    @Test
    void openFileIsFoundAtAnyNumber() throws IOException {
        FileDescriptors fileDescriptors = new FileDescriptors(folder);
        open(3, OTHER);
        open(700, SHARED);
        assertThat(fileDescriptors.find(SHARED)).isEqualTo(700);
        assertThat(fileDescriptors.find(OTHER)).isEqualTo(3);
    }

    /// Many links have the same target; the next number after the last one must be found.
    @Test
    void nextNumbersAreProbedFirst() throws IOException {
        FileDescriptors fileDescriptors = new FileDescriptors(folder);
        open(1_000, OTHER);
        assertThat(fileDescriptors.find(OTHER)).isEqualTo(1_000);
        for (int number = 100; number < 900; number++) {
            open(number, SHARED);
        }
        open(1_001, SHARED);
        open(1_005, SHARED);
        assertThat(fileDescriptors.find(SHARED)).isEqualTo(1_001);
        assertThat(fileDescriptors.find(SHARED)).isEqualTo(1_005);
        assertThat(fileDescriptors.find(SHARED)).isBetween(100, 1_005);
    }

    @Test
    void missingFileThrows() throws IOException {
        open(3, OTHER);
        assertThatThrownBy(() -> new FileDescriptors(folder).find(SHARED))
                .isInstanceOf(NoSuchFileException.class)
                .hasMessageContaining(SHARED.toString())
                .hasMessageContaining(folder.toString());
    }
}
