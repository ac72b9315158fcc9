package org.horovod4j.djl.training;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIOException;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;

import org.horovod4j.djl.ArraySpec;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.ValueLayout;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.nio.file.AccessDeniedException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;

class CheckpointFolderTest {
    private static final ValueLayout.OfFloat FLOATS =
            ValueLayout.JAVA_FLOAT_UNALIGNED.withOrder(ByteOrder.LITTLE_ENDIAN);

    @TempDir private Path path;
    private final NDManager manager = NDManager.newBaseManager("PyTorch");
    private final Arena arena = Arena.ofConfined();
    private CheckpointFolder folder;

    @BeforeEach
    void makeFolder() {
        folder = new CheckpointFolder(path.resolve("checkpoints"), 3);
    }

    @AfterEach
    void close() {
        arena.close();
        manager.close();
    }

    @Test
    void readReturnsWhatWasWritten() throws IOException {
        Map<String, NDArray> arrays = new LinkedHashMap<>();
        arrays.put("matrix", manager.create(new float[][] {{1, 2, 3}, {4, 5, 6}}));
        arrays.put("scalar", manager.create(7.5));
        arrays.put("bytes", manager.create(new byte[] {1, -2, 3}));
        arrays.put("nothing", manager.zeros(new Shape(0, 4), DataType.FLOAT32));
        Map<String, String> facts = Map.of("epoch", "5", "größe", "ünicode");
        folder.write(5, file -> CheckpointFile.write(file, facts, arrays));

        CheckpointFolder.LoadedCheckpoint loadedCheckpoint = folder.loadNewest(arena).orElseThrow();
        assertThat(loadedCheckpoint.path()).hasFileName("epoch-0005.checkpoint");
        assertThat(loadedCheckpoint.file().metadata()).isEqualTo(facts);
        assertThat(loadedCheckpoint.file().specs()).isEqualTo(ArraySpec.ofAll(arrays));
        Map<String, CheckpointFile.StoredArray> stored = loadedCheckpoint.file().arrays();
        assertThat(stored)
                .hasEntrySatisfying(
                        "matrix",
                        matrix ->
                                assertThat(matrix.bytes().toArray(FLOATS))
                                        .containsExactly(1, 2, 3, 4, 5, 6))
                .hasEntrySatisfying(
                        "nothing", nothing -> assertThat(nothing.bytes().byteSize()).isZero());
    }

    @Test
    void keepsOnlyNewest() throws IOException {
        for (int epoch = 1; epoch <= 5; epoch++) {
            write(epoch);
        }
        assertThat(names())
                .containsExactly(
                        "epoch-0003.checkpoint", "epoch-0004.checkpoint", "epoch-0005.checkpoint");
        assertThat(epochOfNewest()).isEqualTo("5");
    }

    @Test
    void keepsWrittenCheckpointBesideLaterOnes() throws IOException {
        for (int epoch = 7; epoch <= 9; epoch++) {
            write(epoch);
        }
        write(1);
        write(2);
        assertThat(names())
                .containsExactly(
                        "epoch-0002.checkpoint",
                        "epoch-0007.checkpoint",
                        "epoch-0008.checkpoint",
                        "epoch-0009.checkpoint");
    }

    @Test
    void emptyFolderHasNoNewest() throws IOException {
        assertThat(folder.loadNewest(arena)).isEmpty();
        Files.createDirectories(folder.folder());
        Files.writeString(folder.folder().resolve(".epoch-0001.partial"), "cut off");
        Files.writeString(folder.folder().resolve("notes.txt"), "mine");
        assertThat(folder.loadNewest(arena)).isEmpty();
    }

    /// What may happen to a file.
    enum Damage {
        CUT_OFF,
        EMPTY,
        CHANGED,
        FOREIGN,
        FROM_THE_FUTURE;

        byte[] apply(byte[] whole) {
            byte[] bytes = whole.clone();
            return switch (this) {
                case CUT_OFF -> Arrays.copyOf(bytes, bytes.length - 3);
                case EMPTY -> new byte[0];
                case FOREIGN -> "DJL@ and something else".getBytes(StandardCharsets.US_ASCII);
                case CHANGED -> {
                    bytes[bytes.length / 2] ^= 1;
                    yield bytes;
                }
                case FROM_THE_FUTURE -> {
                    bytes[8] = 2;
                    yield bytes;
                }
            };
        }

        String expectedMessage() {
            return switch (this) {
                case CUT_OFF, CHANGED -> "its checksum is wrong";
                case EMPTY, FOREIGN -> "does not begin like a checkpoint";
                case FROM_THE_FUTURE -> "version 2";
            };
        }
    }

    @ParameterizedTest
    @EnumSource(Damage.class)
    void damagedFileFallsBackToPrevious(Damage damage) throws IOException {
        write(1);
        write(2);
        damage("epoch-0002.checkpoint", damage);
        assertThat(epochOfNewest()).isEqualTo("1");
        damage("epoch-0001.checkpoint", damage);
        assertThatIOException()
                .isThrownBy(() -> folder.loadNewest(arena))
                .withMessageContaining("no checkpoint in")
                .withMessageContaining("epoch-0001.checkpoint")
                .withMessageContaining(damage.expectedMessage())
                .withMessageContaining("Remove them");
    }

    @Test
    void failedWriteKeepsPreviousAndNoPartialFile() throws IOException {
        write(1);
        assertThatIOException()
                .isThrownBy(
                        () ->
                                folder.write(
                                        2,
                                        file -> {
                                            Files.writeString(file, "half");
                                            throw new IOException("disk full");
                                        }))
                .withMessage("disk full");
        assertThat(names()).containsExactly("epoch-0001.checkpoint");
        assertThat(epochOfNewest()).isEqualTo("1");
    }

    @Test
    void describesFolderErrors() throws IOException {
        Path file = Files.writeString(folder.folder().resolveSibling("file"), "no folder");
        assertThat(errorFor(file)).startsWith(file + " is there already, and is no folder\nRemove");
        assertThat(errorFor(file.resolve("below")))
                .startsWith(file.resolve("below") + " cannot be used: ")
                .contains("\nName another folder");
        assertThat(folder.describe(new NoSuchFileException("/proc/x")))
                .startsWith("/proc/x is not there, and cannot be made\nName another folder");
        assertThat(folder.describe(new AccessDeniedException("/root/x")))
                .startsWith("the user that rank 0 runs as may not use /root/x\nChange its owner");
        assertThat(folder.describe(new IOException("No space left on device")))
                .startsWith(folder.folder() + " cannot be used: No space left on device\nName")
                .contains("has room");
        assertThat(folder.describe(new DamagedFileException("cut off"))).isEqualTo("cut off");
    }

    /// What a folder says of itself that cannot be made.
    private static String errorFor(Path path) {
        CheckpointFolder impossible = new CheckpointFolder(path, 1);
        return impossible.describe(catchThrowableOfType(IOException.class, impossible::prepare));
    }

    private void write(int epoch) throws IOException {
        Map<String, NDArray> arrays = Map.of("a", manager.ones(new Shape(100)));
        folder.write(
                epoch,
                file -> CheckpointFile.write(file, Map.of("epoch", String.valueOf(epoch)), arrays));
    }

    private String epochOfNewest() throws IOException {
        return folder.loadNewest(arena)
                .orElseThrow()
                .file()
                .metadata()
                .getOrDefault("epoch", "none");
    }

    private void damage(String name, Damage damage) throws IOException {
        Path file = folder.folder().resolve(name);
        Files.write(file, damage.apply(Files.readAllBytes(file)));
    }

    private List<String> names() throws IOException {
        try (Stream<Path> files = Files.list(folder.folder())) {
            return files.map(file -> file.getFileName().toString()).sorted().toList();
        }
    }
}
