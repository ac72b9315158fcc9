package org.horovod4j.elastic;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;

/// A copy of memory, which can be taken again and restored.
///
/// For states that keep memory, also those of frameworks. One core does not use the full bandwidth
/// of memory, so large copies are divided among several threads.
public final class Snapshot {
    private static final long ALIGNMENT = 64;

    /// Small enough to divide evenly, large enough that starting a task costs little compared with
    /// the copy.
    private static final long CHUNK_BYTES = 1 << 20;

    /// From this size on, several threads are faster than one.
    private static final long PARALLEL_BYTES = 8 << 20;

    private final List<MemorySegment> copies;

    private Snapshot(List<MemorySegment> copies) {
        this.copies = copies;
    }

    /// Memory for a copy of `sources`, without content. The garbage collector frees it, since a
    /// state is never closed.
    public static Snapshot of(List<MemorySegment> sources) {
        Arena arena = Arena.ofAuto();
        return new Snapshot(
                sources.stream()
                        .map(source -> arena.allocate(source.byteSize(), ALIGNMENT))
                        .toList());
    }

    /// Copies `sources`, which have the number and sizes of those it was made for. The caller
    /// waits.
    public void copyFrom(List<MemorySegment> sources) {
        copyAll(pieces(sources, copies));
    }

    /// The same on the calling thread only, while other cores compute.
    public void copyFromSingleThreaded(List<MemorySegment> sources) {
        pieces(sources, copies).forEach(CopyChunk::copy);
    }

    /// Copies back.
    public void copyTo(List<MemorySegment> targets) {
        copyAll(pieces(copies, targets));
    }

    private record CopyChunk(MemorySegment from, MemorySegment to) {
        void copy() {
            to.copyFrom(from);
        }

        long byteSize() {
            return from.byteSize();
        }

        /// Whether `thread` may copy it: only its owner may read the memory of a confined arena.
        boolean isAccessibleBy(Thread other) {
            return from.isAccessibleBy(other) && to.isAccessibleBy(other);
        }
    }

    private static List<CopyChunk> pieces(List<MemorySegment> from, List<MemorySegment> to) {
        List<CopyChunk> pieces = new ArrayList<>();
        for (int i = 0; i < from.size(); i++) {
            long byteSize = from.get(i).byteSize();
            for (long start = 0; start < byteSize; start += CHUNK_BYTES) {
                long length = Math.min(CHUNK_BYTES, byteSize - start);
                pieces.add(
                        new CopyChunk(
                                from.get(i).asSlice(start, length),
                                to.get(i).asSlice(start, length)));
            }
        }
        return pieces;
    }

    private static void copyAll(List<CopyChunk> pieces) {
        Thread other = Thread.ofPlatform().unstarted(() -> {});
        long byteSize = pieces.stream().mapToLong(CopyChunk::byteSize).sum();
        if (byteSize >= PARALLEL_BYTES
                && pieces.stream().allMatch(each -> each.isAccessibleBy(other))) {
            pieces.parallelStream().forEach(CopyChunk::copy);
        } else {
            pieces.forEach(CopyChunk::copy);
        }
    }
}
