package org.horovod4j.transport.local;

import org.horovod4j.transport.RegionLayout;
import org.horovod4j.transport.SharedMemory;
import org.jspecify.annotations.Nullable;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.List;
import java.util.Map;
import java.util.NavigableMap;
import java.util.concurrent.ConcurrentSkipListMap;
import java.util.stream.IntStream;

/// The shared memory of ranks in one JVM. All ranks use one instance.
///
/// The garbage collector frees the memory after its last use, so a rank may leave while another
/// still reads.
public final class LocalMemoryDomain {
    private static final long ALIGNMENT = 128;

    private final List<Integer> ranks;
    private final List<MemorySegment> regions;

    /// Allocated blocks by address. The address also identifies a block in a
    /// [SharedMemory.Location].
    private final NavigableMap<Long, MemorySegment> blocks = new ConcurrentSkipListMap<>();

    /// Creates a domain of `ranks`, which are ascending.
    public LocalMemoryDomain(List<Integer> ranks) {
        this.ranks = List.copyOf(ranks);
        this.regions =
                IntStream.range(0, ranks.size())
                        .mapToObj(_ -> Arena.ofAuto().allocate(RegionLayout.BYTES, ALIGNMENT))
                        .toList();
    }

    /// The view of `rank`.
    public SharedMemory memory(int rank) {
        return new RankView(ranks.indexOf(rank));
    }

    private final class RankView implements SharedMemory {
        private final int index;

        RankView(int index) {
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
        public @Nullable Location locate(MemorySegment segment) {
            Map.Entry<Long, MemorySegment> below =
                    segment.isNative() ? blocks.floorEntry(segment.address()) : null;
            if (below == null) {
                return null;
            }
            long offset = segment.address() - below.getKey();
            long blockSize = below.getValue().byteSize();
            return offset + segment.byteSize() <= blockSize
                    ? new Location(below.getKey(), blockSize, offset, segment.byteSize())
                    : null;
        }

        @Override
        public MemorySegment resolve(int member, Location location) {
            MemorySegment block = blocks.get(location.block());
            if (block == null) {
                throw new IllegalArgumentException("there is no block " + location.block());
            }
            return block.asSlice(location.offset(), location.byteSize());
        }

        @Override
        public void close() {}
    }
}
