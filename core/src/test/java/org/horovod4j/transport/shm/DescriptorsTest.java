package org.horovod4j.transport.shm;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;

class DescriptorsTest {
    private static final Path OTHER = Path.of("/other");
    private static final Path SHARED = Path.of("/shared (deleted)");

    @TempDir private Path folder;

    private void open(int number, Path target) throws IOException {
        Files.createSymbolicLink(folder.resolve(Integer.toString(number)), target);
    }

    @Test
    void aFileIsFoundWhereverItIs() throws IOException {
        Descriptors descriptors = new Descriptors(folder);
        open(3, OTHER);
        open(700, SHARED);
        assertThat(descriptors.find(SHARED)).isEqualTo(700);
        assertThat(descriptors.find(OTHER)).isEqualTo(3);
    }

    /// Of many files that show the same, only one that knows where to look comes upon the next.
    @Test
    void theNextNumbersAreLookedAtFirst() throws IOException {
        Descriptors descriptors = new Descriptors(folder);
        open(1_000, OTHER);
        assertThat(descriptors.find(OTHER)).isEqualTo(1_000);
        for (int number = 100; number < 900; number++) {
            open(number, SHARED);
        }
        open(1_001, SHARED);
        open(1_005, SHARED);
        assertThat(descriptors.find(SHARED)).isEqualTo(1_001);
        assertThat(descriptors.find(SHARED)).isEqualTo(1_005);
        assertThat(descriptors.find(SHARED)).isBetween(100, 1_005);
    }

    @Test
    void aFileThatIsNotOpenIsAnError() throws IOException {
        open(3, OTHER);
        assertThatThrownBy(() -> new Descriptors(folder).find(SHARED))
                .isInstanceOf(NoSuchFileException.class)
                .hasMessageContaining(SHARED.toString())
                .hasMessageContaining(folder.toString());
    }
}
