package org.horovod4j.elastic;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;

/// A copy of some memory, which can be taken again and given back.
///
/// For states that keep memory, those of frameworks among them. One core copies at a fraction of what the
/// memory can do, so large copies are cut in pieces for several.
public final class Snapshot {
    private static final long ALIGNMENT = 64;

    /// Small enough to share out evenly, large enough that handing one over costs nothing beside it.
    private static final long CHUNK_BYTES = 1 << 20;

    /// From here on several cores are worth the trouble.
    private static final long PARALLEL_BYTES = 8 << 20;

    private final List<MemorySegment> copies;

    private Snapshot(List<MemorySegment> copies) {
        this.copies = copies;
    }

    /// Memory for a copy of `sources`, with nothing in it. The collector frees it: a state has no end that
    /// anybody would declare.
    public static Snapshot of(List<MemorySegment> sources) {
        Arena arena = Arena.ofAuto();
        return new Snapshot(
                sources.stream()
                        .map(source -> arena.allocate(source.byteSize(), ALIGNMENT))
                        .toList());
    }

    /// Copies `sources`, as many and as large as those it was made for, while the caller waits.
    public void copyFrom(List<MemorySegment> sources) {
        copyAll(pieces(sources, copies));
    }

    /// The same on the calling thread alone: the other cores have better things to do meanwhile.
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

        /// Whether that thread may copy it: memory of a confined arena is its owner's alone.
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
