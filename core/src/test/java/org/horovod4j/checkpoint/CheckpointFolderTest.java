package org.horovod4j.checkpoint;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIOException;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import org.horovod4j.DataType;
import org.horovod4j.Shape;
import org.horovod4j.Tensor;
import org.horovod4j.checkpoint.CheckpointFile.DamagedFileException;
import org.horovod4j.testing.World;
import org.horovod4j.training.TensorSpec;
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
import java.util.function.Supplier;
import java.util.stream.Stream;

class CheckpointFolderTest {
    private static final ValueLayout.OfFloat FLOATS =
            ValueLayout.JAVA_FLOAT_UNALIGNED.withOrder(ByteOrder.LITTLE_ENDIAN);

    @TempDir private Path path;
    private final Arena arena = Arena.ofConfined();
    private CheckpointFolder folder;

    @BeforeEach
    void createFolder() {
        folder = new CheckpointFolder(path.resolve("checkpoints"), 3);
    }

    @AfterEach
    void close() {
        arena.close();
    }

    @Test
    void checkpointsOfStepsHaveTheirOwnNames() throws IOException {
        CheckpointFolder steps =
                new CheckpointFolder(folder.folder(), 1, CheckpointFolder.Unit.STEP);
        Map<String, Supplier<Tensor>> tensors = Map.of("a", () -> Tensor.of(new float[] {1}));
        steps.write(900, Map.of(), tensors);
        steps.write(12_000, Map.of(), tensors);

        assertThat(steps.loadNewest(arena).orElseThrow().path())
                .hasFileName("step-12000.checkpoint");
        assertThat(steps.folder()).isDirectoryNotContaining("glob:**step-0900.checkpoint");
        assertThat(folder.loadNewest(arena)).isEmpty();
    }

    @Test
    void readReturnsWhatWasWritten() throws IOException {
        Map<String, Tensor> tensors = new LinkedHashMap<>();
        tensors.put("matrix", Tensor.of(new float[] {1, 2, 3, 4, 5, 6}, 2, 3));
        tensors.put("native", Tensor.zeros(DataType.FLOAT64, Shape.of(2)));
        tensors.put("bytes", Tensor.of(new byte[] {1, -2, 3}));
        tensors.put("nothing", Tensor.zeros(DataType.FLOAT32, Shape.of(0, 4)));
        Map<String, String> metadata = Map.of("epoch", "5", "größe", "ünicode");
        folder.write(5, metadata, suppliers(tensors));

        CheckpointFolder.LoadedCheckpoint loaded = folder.loadNewest(arena).orElseThrow();
        assertThat(loaded.path()).hasFileName("epoch-0005.checkpoint");
        assertThat(loaded.file().metadata()).isEqualTo(metadata);
        assertThat(loaded.file().specs()).isEqualTo(TensorSpec.ofAll(tensors));
        Map<String, CheckpointFile.StoredTensor> stored = loaded.file().tensors();
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
                case EMPTY, FOREIGN -> "does not start like a checkpoint";
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
        assertThatIllegalStateException()
                .isThrownBy(
                        () ->
                                folder.write(
                                        2,
                                        Map.of(),
                                        Map.of(
                                                "a",
                                                () -> {
                                                    throw new IllegalStateException("no memory");
                                                })))
                .withMessage("no memory");
        assertThat(names()).containsExactly("epoch-0001.checkpoint");
        assertThat(epochOfNewest()).isEqualTo("1");
    }

    @Test
    void describesFolderErrors() throws IOException {
        Path file = Files.writeString(folder.folder().resolveSibling("file"), "no folder");
        assertThat(errorFor(file)).startsWith(file + " exists and is not a folder\nRemove");
        assertThat(errorFor(file.resolve("below")))
                .startsWith(file.resolve("below") + " cannot be used: ")
                .contains("\nUse another folder");
        assertThat(folder.describe(new NoSuchFileException("/proc/x")))
                .startsWith("/proc/x does not exist and cannot be created\nUse another folder");
        assertThat(folder.describe(new AccessDeniedException("/root/x")))
                .startsWith("the user of rank 0 may not use /root/x\nChange its owner");
        assertThat(folder.describe(new IOException("No space left on device")))
                .startsWith(folder.folder() + " cannot be used: No space left on device\nUse")
                .contains("has free space");
        assertThat(folder.describe(new DamagedFileException("cut off"))).isEqualTo("cut off");
    }

    /// The message for a folder that cannot be created.
    private static String errorFor(Path path) {
        CheckpointFolder unusable = new CheckpointFolder(path, 1);
        return unusable.describe(catchThrowableOfType(IOException.class, unusable::prepare));
    }

    private void write(int epoch) throws IOException {
        Map<String, Tensor> tensors = Map.of("a", Tensor.of(new float[100]));
        folder.write(epoch, Map.of("epoch", String.valueOf(epoch)), suppliers(tensors));
    }

    private static Map<String, Supplier<Tensor>> suppliers(Map<String, Tensor> tensors) {
        Map<String, Supplier<Tensor>> suppliers = new LinkedHashMap<>();
        tensors.forEach((name, tensor) -> suppliers.put(name, () -> tensor));
        return suppliers;
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

    @Test
    void allRanksResumeFromRankZero() {
        World.run(
                3,
                comm -> {
                    float[] weights = {comm.rank(), 1};
                    Map<String, Tensor> tensors = Map.of("weights", Tensor.of(weights));
                    assertThat(folder.resume(comm, tensors)).as("no checkpoint yet").isEmpty();
                    assertThat(weights).as("those of rank 0").containsExactly(0, 1);
                    weights[0] = 7;
                    folder.save(comm, 4, Map.of("epoch", "4"), tensors);
                    weights[0] = comm.rank();
                    assertThat(folder.resume(comm, tensors)).isEqualTo(Map.of("epoch", "4"));
                    assertThat(weights).containsExactly(7, 1);
                });
    }

    @Test
    void allRanksThrowWhenRankZeroFails() {
        World.run(
                2,
                comm -> {
                    folder.save(
                            comm, 1, Map.of(), Map.of("weights", Tensor.of(new float[] {1, 2})));
                    assertThatThrownBy(
                                    () ->
                                            folder.resume(
                                                    comm,
                                                    Map.of("weights", Tensor.of(new float[3]))))
                            .isInstanceOf(CheckpointException.class)
                            .hasMessageContaining("rank 0 could not resume training")
                            .hasMessageContaining(
                                    "has 'weights' as float32[3], the root rank as float32[2]");
                });
    }
}
