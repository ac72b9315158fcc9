package org.horovod4j.transport;

import org.jspecify.annotations.Nullable;

import java.lang.foreign.MemorySegment;
import java.util.List;

/// Memory that the ranks of one host reach directly: a region of each, and blocks for tensors.
///
/// The members are the ranks of the domain in rank order; a member is named by its index here.
public interface SharedMemory extends AutoCloseable {
    /// The ranks that share, ascending.
    List<Integer> ranks();

    /// This rank's index in [#ranks].
    int index();

    /// The region of a member, equally large and laid out for all: see [RegionLayout].
    MemorySegment region(int member);

    /// New zeroed memory of this rank that the others can reach through [#resolve].
    MemorySegment allocate(long byteSize);

    /// Where `segment` lies in the memory made by [#allocate], or null when it lies elsewhere.
    @Nullable Location locate(MemorySegment segment);

    /// The memory of `member` at `place`, mapped when first asked for.
    MemorySegment resolve(int member, Location location);

    @Override
    void close();

    /// A stretch of a member's allocated memory.
    ///
    /// @param block which of the member's blocks, as its other members find it
    /// @param blockSize the whole block's bytes
    /// @param offset the first byte inside the block
    /// @param byteSize how many bytes
    record Location(long block, long blockSize, long offset, long byteSize) {}
}
