package org.horovod4j.transport.shm;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assumptions.assumeThat;

import org.horovod4j.ConfigurationException;
import org.horovod4j.spi.RankInfo;
import org.horovod4j.transport.RegionLayout;
import org.horovod4j.transport.SharedMemory.Location;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.UserPrincipal;
import java.util.List;
import java.util.stream.IntStream;

class MappedSharedMemoryTest {
    private static final long PID = ProcessHandle.current().pid();

    @TempDir private Path folder;

    private static RankInfo member(int rank, String address) {
        return new RankInfo(rank, "host", "machine", "domain", PID, address, List.of());
    }

    /// Ranks 4 and 6, which have mapped each other's memory.
    private record Pair(MappedSharedMemory first, MappedSharedMemory second)
            implements AutoCloseable {
        static Pair in(Path folder) {
            MappedSharedMemory first = MappedSharedMemory.open(folder);
            MappedSharedMemory second = MappedSharedMemory.open(folder);
            List<RankInfo> domain =
                    List.of(member(4, first.address()), member(6, second.address()));
            first.mapRegions(domain, 4);
            second.mapRegions(domain, 6);
            return new Pair(first, second);
        }

        @Override
        public void close() {
            first.close();
            second.close();
        }
    }

    @Test
    void everyRankSeesAllRegions() {
        try (Pair pair = Pair.in(folder)) {
            assertThat(pair.first.ranks()).containsExactly(4, 6);
            assertThat(pair.first.index()).isEqualTo(0);
            assertThat(pair.second.index()).isEqualTo(1);
            assertThat(pair.second.region(0).byteSize()).isEqualTo(RegionLayout.BYTES);
            pair.first.region(0).set(ValueLayout.JAVA_LONG, 8, 42);
            pair.second.region(1).set(ValueLayout.JAVA_LONG, 8, 43);
            assertThat(pair.second.region(0).get(ValueLayout.JAVA_LONG, 8)).isEqualTo(42);
            assertThat(pair.first.region(1).get(ValueLayout.JAVA_LONG, 8)).isEqualTo(43);
            assertThat(folder).isEmptyDirectory();
        }
    }

    @Test
    void slicesOfAllocatedMemoryAreLocated() {
        try (Pair pair = Pair.in(folder)) {
            MemorySegment other = pair.first.allocate(50);
            MemorySegment block = pair.first.allocate(1_000);
            assertThat(pair.first.locate(other)).isNotNull();
            Location location = pair.first.locate(block.asSlice(100, 10));
            assertThat(location).isNotNull();
            assertThat(location.offset()).isEqualTo(100);
            assertThat(location.byteSize()).isEqualTo(10);
            block.set(ValueLayout.JAVA_BYTE, 109, (byte) 9);
            MemorySegment found = pair.second.resolve(0, location);
            assertThat(found.byteSize()).isEqualTo(10);
            assertThat(found.get(ValueLayout.JAVA_BYTE, 9)).isEqualTo((byte) 9);
            assertThat(folder).isEmptyDirectory();
        }
    }

    @Test
    void thousandsOfBlocksAreAllFound() {
        int count = 3_000;
        try (Pair pair = Pair.in(folder)) {
            List<MemorySegment> blocks =
                    IntStream.range(0, count).mapToObj(i -> pair.first.allocate(8)).toList();
            for (int i = 0; i < count; i++) {
                blocks.get(i).set(ValueLayout.JAVA_INT, 0, i);
            }
            for (int i = 0; i < count; i++) {
                MemorySegment found = pair.second.resolve(0, locate(pair.first, blocks.get(i)));
                assertThat(found.get(ValueLayout.JAVA_INT, 0)).isEqualTo(i);
            }
        }
    }

    @Test
    void emptyAllocationIsLocated() {
        try (Pair pair = Pair.in(folder)) {
            MemorySegment nothing = pair.first.allocate(0);
            assertThat(nothing.byteSize()).isZero();
            Location location = pair.first.locate(nothing);
            assertThat(location).isNotNull();
            assertThat(pair.second.resolve(0, location).byteSize()).isZero();
        }
    }

    @Test
    void unsharedMemoryIsNotLocated() {
        try (Pair pair = Pair.in(folder)) {
            assertThat(pair.first.locate(MemorySegment.ofArray(new byte[8]))).isNull();
            MemorySegment block = pair.first.allocate(100);
            assertThat(pair.first.locate(Arena.ofAuto().allocate(100))).isNull();
            assertThat(pair.first.locate(MemorySegment.ofArray(new byte[8]))).isNull();
            assertThat(pair.second.locate(block)).isNull();
        }
    }

    @Test
    void unusableFolderFallsBackToTemporaryFolder() {
        try (Pair pair = Pair.in(folder.resolve("none"))) {
            pair.first.region(0).set(ValueLayout.JAVA_LONG, 8, 42);
            assertThat(pair.second.region(0).get(ValueLayout.JAVA_LONG, 8)).isEqualTo(42);
            assertThat(
                            pair.second
                                    .resolve(0, locate(pair.first, pair.first.allocate(3)))
                                    .byteSize())
                    .isEqualTo(3);
        }
    }

    private static Location locate(MappedSharedMemory memory, MemorySegment segment) {
        Location location = memory.locate(segment);
        if (location == null) {
            throw new AssertionError("no location for " + segment);
        }
        return location;
    }

    /// A peer that names another file would make this rank open and change it.
    @ParameterizedTest
    @ValueSource(strings = {"secret", "horovod4j-7/../secret", "horovod4j-9"})
    void pathsOfOtherFilesAreRefused(String name) throws IOException {
        Files.createDirectory(folder.resolve("horovod4j-7"));
        Path victim = Files.write(folder.resolve("secret"), new byte[(int) RegionLayout.BYTES]);
        Files.createSymbolicLink(folder.resolve("horovod4j-9"), victim);
        String path = folder.resolve(name).toString();
        assertPathRefused(path, "not a file that Horovod4J of process " + PID + " shares");
    }

    @Test
    void descriptorsOfOtherFilesAreRefused() throws IOException {
        assertPathRefused("/proc/self/fd/0", "not a file");
        assertPathRefused("/proc/1/fd/0", "not a file");
        Path file = Files.write(folder.resolve("secret"), new byte[(int) RegionLayout.BYTES]);
        try (FileChannel open = FileChannel.open(file, StandardOpenOption.WRITE)) {
            assertThat(open.isOpen()).isTrue();
            int number = FileDescriptors.ofThisProcess().find(file.toRealPath());
            assertPathRefused("/proc/" + PID + "/fd/" + number, "not a file");
        }
    }

    @Test
    void filesOfOtherUsersAreRefused() throws IOException {
        Path file = Files.write(folder.resolve("horovod4j-5"), new byte[(int) RegionLayout.BYTES]);
        UserPrincipal nobody =
                folder.getFileSystem()
                        .getUserPrincipalLookupService()
                        .lookupPrincipalByName("65534");
        assumeThat(Files.getOwner(file).getName()).as("may change owners").isEqualTo("root");
        Files.setOwner(file, nobody);
        assertPathRefused(file.toRealPath().toString(), "belongs to");
    }

    private void assertPathRefused(String path, String reason) {
        try (MappedSharedMemory memory = MappedSharedMemory.open(folder)) {
            List<RankInfo> domain = List.of(member(0, memory.address()), member(3, path));
            assertThatThrownBy(() -> memory.mapRegions(domain, 0))
                    .isInstanceOf(ConfigurationException.class)
                    .hasMessageContaining("memory of rank 3")
                    .hasMessageContaining(reason);
        }
    }

    @Test
    void missingMemoryErrorNamesItsRank() {
        try (MappedSharedMemory memory = MappedSharedMemory.open(folder)) {
            List<RankInfo> domain =
                    List.of(
                            member(0, memory.address()),
                            member(3, folder.resolve("horovod4j-1").toString()));
            assertThatThrownBy(() -> memory.mapRegions(domain, 0))
                    .isInstanceOf(ConfigurationException.class)
                    .hasMessageContaining("memory of rank 3")
                    .hasMessageContaining("HOROVOD_TRANSPORT=tcp");
        }
    }
}
