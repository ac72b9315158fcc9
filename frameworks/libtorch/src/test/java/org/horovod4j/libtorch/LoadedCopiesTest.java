package org.horovod4j.libtorch;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatNoException;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.channels.FileChannel;
import java.nio.channels.FileChannel.MapMode;
import java.nio.file.Files;
import java.nio.file.Path;

/// Files that are mapped, as the system maps libraries.
class LoadedCopiesTest {
    private static final String NAME = "libcopied.so";

    @TempDir private Path folder;

    private MemorySegment map(String copy, Arena arena) throws IOException {
        Path file = Files.createDirectories(folder.resolve(copy)).resolve(NAME);
        try (FileChannel channel = FileChannel.open(Files.write(file, new byte[] {1}))) {
            return channel.map(MapMode.READ_ONLY, 0, 1, arena);
        }
    }

    @Test
    void secondCopyIsRefused() throws IOException {
        try (Arena arena = Arena.ofConfined()) {
            assertThatNoException().isThrownBy(() -> LoadedCopies.requireOne(NAME));
            map("first", arena);
            assertThatNoException().isThrownBy(() -> LoadedCopies.requireOne(NAME));
            map("second", arena);
            assertThatThrownBy(() -> LoadedCopies.requireOne(NAME))
                    .isInstanceOf(IllegalStateException.class)
                    .hasMessageContaining("loaded libtorch more than once")
                    .hasMessageContaining(folder.resolve("first").toString())
                    .hasMessageContaining(folder.resolve("second").toString());
        }
    }

    @Test
    void fileNamesNeedNotBeUtf8() throws Exception {
        try (Arena arena = Arena.ofConfined()) {
            map("jürgen", arena);
            map("other", arena);
            // Java cannot open a file with such a name, but mappings follow a renamed file
            String rename =
                    "mv '" + folder + "/other/" + NAME + "' \"" + folder + "/$(printf 'x\\377')\"";
            assertThat(new ProcessBuilder("sh", "-c", rename).start().waitFor()).isZero();
            Path own = folder.resolve("jürgen");
            assertThatNoException().isThrownBy(() -> LoadedCopies.requireOne(NAME));
            assertThatNoException().isThrownBy(() -> LoadedCopies.requireNoneOutside(NAME, own));
        }
    }

    @Test
    void copyOutsideOfOwnFolderIsRefused() throws IOException {
        try (Arena arena = Arena.ofConfined()) {
            Path own = folder.resolve("own");
            map("own", arena);
            assertThatNoException().isThrownBy(() -> LoadedCopies.requireNoneOutside(NAME, own));
            map("other", arena);
            assertThatThrownBy(() -> LoadedCopies.requireNoneOutside(NAME, own))
                    .isInstanceOf(IllegalStateException.class)
                    .hasMessageContaining(
                            "already loaded another libtorch: " + folder.resolve("other"));
        }
    }
}
