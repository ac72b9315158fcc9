package org.horovod4j.transport;

import org.jspecify.annotations.Nullable;

import java.lang.foreign.MemorySegment;
import java.util.List;

/// Memory that the ranks of one host access directly: one region per rank, and blocks for tensors.
///
/// The members are the ranks of the domain in ascending order. Methods identify a member by its
/// index in that order.
public interface SharedMemory extends AutoCloseable {
    /// The ranks of the domain, ascending.
    List<Integer> ranks();

    /// This rank's index in [#ranks].
    int index();

    /// The region of a member. All regions have the same layout: see [RegionLayout].
    MemorySegment region(int member);

    /// Allocates zeroed memory that the other members can map with [#resolve].
    MemorySegment allocate(long byteSize);

    /// The location of `segment` in memory from [#allocate], or null if it lies elsewhere.
    @Nullable Location locate(MemorySegment segment);

    /// The memory of `member` at `location`, mapped on first use.
    MemorySegment resolve(int member, Location location);

    /// Frees the memory. Later calls do nothing.
    @Override
    void close();

    /// A range of a member's allocated memory.
    ///
    /// @param block identifies the block among those of its owner
    /// @param blockSize the size of the whole block in bytes
    /// @param offset the first byte of the range in the block
    /// @param byteSize the size of the range
    record Location(long block, long blockSize, long offset, long byteSize) {}
}
