package org.horovod4j.transport.local;

import org.horovod4j.transport.Region;
import org.horovod4j.transport.SharedMemory;
import org.jspecify.annotations.Nullable;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.List;
import java.util.Map;
import java.util.NavigableMap;
import java.util.concurrent.ConcurrentSkipListMap;
import java.util.stream.IntStream;

/// The memory of ranks that live in one JVM; one instance for all of them.
///
/// The collector frees it with its last user, so a rank may leave while another still reads.
public final class LocalDomain {
    private static final long ALIGNMENT = 128;

    private final List<Integer> ranks;
    private final List<MemorySegment> regions;

    /// What the ranks have allocated, by address, which is also how they tell each other.
    private final NavigableMap<Long, MemorySegment> blocks = new ConcurrentSkipListMap<>();

    /// A domain of `ranks`, ascending.
    public LocalDomain(List<Integer> ranks) {
        this.ranks = List.copyOf(ranks);
        this.regions =
                IntStream.range(0, ranks.size())
                        .mapToObj(_ -> Arena.ofAuto().allocate(Region.BYTES, ALIGNMENT))
                        .toList();
    }

    /// The domain as `rank` sees it.
    public SharedMemory memory(int rank) {
        return new View(ranks.indexOf(rank));
    }

    private final class View implements SharedMemory {
        private final int index;

        View(int index) {
            this.index = index;
        }

        @Override
        public List<Integer> ranks() {
            return ranks;
        }

        @Override
        public int index() {
            return index;
        }

        @Override
        public MemorySegment region(int member) {
            return regions.get(member);
        }

        @Override
        public MemorySegment allocate(long byteSize) {
            MemorySegment block = Arena.ofAuto().allocate(byteSize, ALIGNMENT);
            blocks.put(block.address(), block);
            return block;
        }

        @Override
        public @Nullable Place locate(MemorySegment segment) {
            Map.Entry<Long, MemorySegment> below =
                    segment.isNative() ? blocks.floorEntry(segment.address()) : null;
            if (below == null) {
                return null;
            }
            long offset = segment.address() - below.getKey();
            long blockSize = below.getValue().byteSize();
            return offset + segment.byteSize() <= blockSize
                    ? new Place(below.getKey(), blockSize, offset, segment.byteSize())
                    : null;
        }

        @Override
        public MemorySegment find(int member, Place place) {
            MemorySegment block = blocks.get(place.block());
            if (block == null) {
                throw new IllegalArgumentException("no block " + place.block());
            }
            return block.asSlice(place.offset(), place.byteSize());
        }

        @Override
        public void close() {}
    }
}
