package org.horovod4j.transport.shm;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.horovod4j.ConfigurationException;
import org.horovod4j.spi.Member;
import org.horovod4j.transport.Region;
import org.horovod4j.transport.SharedMemory.Place;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.IntStream;

class HostMemoryTest {
    @TempDir private Path folder;

    private static Member member(int rank, String address) {
        return new Member(rank, "host", "domain", 1, address, List.of());
    }

    /// Two ranks, 4 and 6, that have mapped each other's memory.
    private record Pair(HostMemory first, HostMemory second) implements AutoCloseable {
        static Pair in(Path folder) {
            HostMemory first = HostMemory.open(folder);
            HostMemory second = HostMemory.open(folder);
            List<Member> domain = List.of(member(4, first.address()), member(6, second.address()));
            first.meet(domain, 4);
            second.meet(domain, 6);
            return new Pair(first, second);
        }

        @Override
        public void close() {
            first.close();
            second.close();
        }
    }

    @Test
    void eachSeesTheRegionsOfAll() {
        try (Pair pair = Pair.in(folder)) {
            assertThat(pair.first.ranks()).containsExactly(4, 6);
            assertThat(pair.first.index()).isEqualTo(0);
            assertThat(pair.second.index()).isEqualTo(1);
            assertThat(pair.second.region(0).byteSize()).isEqualTo(Region.BYTES);
            pair.first.region(0).set(ValueLayout.JAVA_LONG, 8, 42);
            pair.second.region(1).set(ValueLayout.JAVA_LONG, 8, 43);
            assertThat(pair.second.region(0).get(ValueLayout.JAVA_LONG, 8)).isEqualTo(42);
            assertThat(pair.first.region(1).get(ValueLayout.JAVA_LONG, 8)).isEqualTo(43);
            assertThat(folder).isEmptyDirectory();
        }
    }

    @Test
    void allocatedMemoryIsFoundWhereverASliceOfItLies() {
        try (Pair pair = Pair.in(folder)) {
            MemorySegment other = pair.first.allocate(50);
            MemorySegment block = pair.first.allocate(1_000);
            assertThat(pair.first.locate(other)).isNotNull();
            Place place = pair.first.locate(block.asSlice(100, 10));
            assertThat(place).isNotNull();
            assertThat(place.offset()).isEqualTo(100);
            assertThat(place.byteSize()).isEqualTo(10);
            block.set(ValueLayout.JAVA_BYTE, 109, (byte) 9);
            MemorySegment found = pair.second.find(0, place);
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
                MemorySegment found = pair.second.find(0, locate(pair.first, blocks.get(i)));
                assertThat(found.get(ValueLayout.JAVA_INT, 0)).isEqualTo(i);
            }
        }
    }

    @Test
    void noBytesAreSomewhereToo() {
        try (Pair pair = Pair.in(folder)) {
            MemorySegment nothing = pair.first.allocate(0);
            assertThat(nothing.byteSize()).isZero();
            Place place = pair.first.locate(nothing);
            assertThat(place).isNotNull();
            assertThat(pair.second.find(0, place).byteSize()).isZero();
        }
    }

    @Test
    void memoryOfOthersIsNotLocated() {
        try (Pair pair = Pair.in(folder)) {
            assertThat(pair.first.locate(MemorySegment.ofArray(new byte[8]))).isNull();
            MemorySegment block = pair.first.allocate(100);
            assertThat(pair.first.locate(Arena.ofAuto().allocate(100))).isNull();
            assertThat(pair.first.locate(MemorySegment.ofArray(new byte[8]))).isNull();
            assertThat(pair.second.locate(block)).isNull();
        }
    }

    @Test
    void aFolderThatCannotBeUsedIsReplaced() {
        try (Pair pair = Pair.in(folder.resolve("none"))) {
            pair.first.region(0).set(ValueLayout.JAVA_LONG, 8, 42);
            assertThat(pair.second.region(0).get(ValueLayout.JAVA_LONG, 8)).isEqualTo(42);
            assertThat(pair.second.find(0, locate(pair.first, pair.first.allocate(3))).byteSize())
                    .isEqualTo(3);
        }
    }

    private static Place locate(HostMemory memory, MemorySegment segment) {
        Place place = memory.locate(segment);
        if (place == null) {
            throw new AssertionError("not located: " + segment);
        }
        return place;
    }

    @Test
    void memoryThatIsGoneIsReportedWithItsOwner() {
        try (HostMemory memory = HostMemory.open(folder)) {
            List<Member> domain =
                    List.of(
                            member(0, memory.address()),
                            member(3, folder.resolve("horovod4j-1").toString()));
            assertThatThrownBy(() -> memory.meet(domain, 0))
                    .isInstanceOf(ConfigurationException.class)
                    .hasMessageContaining("memory of rank 3")
                    .hasMessageContaining("HOROVOD_TRANSPORT=tcp");
        }
    }
}
