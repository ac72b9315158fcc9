package org.horovod4j.transport.shm;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledOnOs;
import org.junit.jupiter.api.condition.OS;
import org.junit.jupiter.api.io.TempDir;

import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;

class SharedFileTest {
    private final FileDescriptors fileDescriptors = FileDescriptors.ofThisProcess();

    @TempDir private Path folder;

    @Test
    @EnabledOnOs(OS.LINUX)
    void isUnlinkedAndOwnerOnly() throws IOException {
        try (Arena arena = Arena.ofShared();
                SharedFile file = SharedFile.create(folder, 100, arena, fileDescriptors)) {
            assertThat(folder).isEmptyDirectory();
            assertThat(file.path()).startsWithRaw(Path.of("/proc"));
            assertThat(PosixFilePermissions.toString(Files.getPosixFilePermissions(file.path())))
                    .isEqualTo("rw-------");
        }
    }

    @Test
    void isZeroedAndSharedBetweenMappings() throws IOException {
        try (Arena arena = Arena.ofShared();
                SharedFile file = SharedFile.create(folder, 5_000, arena, fileDescriptors)) {
            assertThat(file.memory().toArray(ValueLayout.JAVA_BYTE)).isEqualTo(new byte[5_000]);
            MemorySegment seen = SharedFile.map(file.path(), 5_000, arena);
            file.memory().set(ValueLayout.JAVA_BYTE, 4_999, (byte) 3);
            assertThat(seen.get(ValueLayout.JAVA_BYTE, 4_999)).isEqualTo((byte) 3);
        }
    }

    @Test
    void interruptEndsNothingAndIsPreserved() throws Exception {
        Thread program = Thread.currentThread();
        Thread interrupter =
                Thread.ofPlatform()
                        .daemon()
                        .start(
                                () -> {
                                    while (!Thread.currentThread().isInterrupted()) {
                                        program.interrupt();
                                        Thread.onSpinWait();
                                    }
                                });
        try (Arena arena = Arena.ofShared()) {
            for (int i = 0; i < 20; i++) {
                try (SharedFile file = SharedFile.create(folder, 3 << 20, arena, fileDescriptors)) {
                    assertThat(SharedFile.map(file.path(), 3 << 20, arena).byteSize())
                            .isEqualTo(3 << 20);
                }
            }
            interrupter.interrupt();
            while (interrupter.isAlive()) {
                Thread.onSpinWait();
            }
            program.interrupt();
            try (SharedFile file = SharedFile.create(folder, 10, arena, fileDescriptors)) {
                assertThat(SharedFile.map(file.path(), 10, arena).byteSize()).isEqualTo(10);
            }
        } finally {
            assertThat(Thread.interrupted()).isTrue();
        }
    }

    @Test
    void filesOfOneProcessFindEachOtherByNumber() throws IOException {
        try (Arena arena = Arena.ofShared();
                SharedFile first = SharedFile.create(folder, 10, arena, fileDescriptors);
                SharedFile second = SharedFile.create(folder, 20, arena, fileDescriptors)) {
            assertThat(SharedFile.sibling(first.path(), second.number())).isEqualTo(second.path());
            assertThat(SharedFile.sibling(second.path(), second.number())).isEqualTo(second.path());
        }
    }

    @Test
    void namedFilesFindEachOtherByNumberToo() {
        Path first = folder.resolve("horovod4j-17");
        assertThat(SharedFile.sibling(first, 18)).isEqualTo(folder.resolve("horovod4j-18"));
    }

    @Test
    void closeLeavesNoFile() throws IOException {
        Path path;
        try (Arena arena = Arena.ofShared();
                SharedFile file = SharedFile.create(folder, 10, arena, fileDescriptors)) {
            path = file.path();
        }
        assertThat(folder).isEmptyDirectory();
        assertThatThrownBy(() -> SharedFile.map(path, 10, Arena.ofAuto()))
                .isInstanceOf(IOException.class);
    }

    @Test
    void tooShortFileIsRejected() throws IOException {
        try (Arena arena = Arena.ofShared();
                SharedFile file = SharedFile.create(folder, 10, arena, fileDescriptors)) {
            assertThatThrownBy(() -> SharedFile.map(file.path(), 11, arena))
                    .isInstanceOf(IOException.class)
                    .hasMessageContaining("10 bytes, expected at least 11");
        }
    }

    @Test
    void missingFolderThrows() {
        try (Arena arena = Arena.ofShared()) {
            assertThatThrownBy(
                            () ->
                                    SharedFile.create(
                                            folder.resolve("none"), 10, arena, fileDescriptors))
                    .isInstanceOf(NoSuchFileException.class);
        }
    }
}
