package org.horovod4j.collectives.algorithm;

import org.horovod4j.transport.LocalGroup;
import org.horovod4j.transport.RegionLayout;
import org.horovod4j.transport.RegionLayout.Counter;

import java.lang.foreign.MemorySegment;

/// Broadcast within a host: one rank packs, the others copy out.
///
/// | rounds           | bytes copied by each rank |
/// |------------------|---------------------------|
/// | tensor / 512 KiB | tensor                    |
public final class StagedBroadcast {
    private final LocalGroup local;
    private final StagedPipeline pipeline;

    public StagedBroadcast(LocalGroup local) {
        this.local = local;
        this.pipeline = new StagedPipeline(local);
    }

    /// The number of pieces in which `length` bytes are copied.
    public static long rounds(long length) {
        return (length + RegionLayout.STAGE_BYTES - 1) / RegionLayout.STAGE_BYTES;
    }

    /// Copies `length` bytes, which `source` writes to the stage of `root` piece by piece, to all
    /// members.
    public void run(int root, Source source, MemorySegment output, long outputOffset, long length) {
        pipeline.run(
                rounds(length),
                new StagedPipeline.Phases() {
                    @Override
                    public void pack(long round, long stage) {
                        if (local.index() == root) {
                            long position = round * RegionLayout.STAGE_BYTES;
                            source.fill(
                                    position,
                                    StagedPipeline.bytesInRound(length, round),
                                    local.region(root),
                                    stage);
                        }
                    }

                    @Override
                    public void unpack(long round, long stage, long packed) {
                        local.await(root, Counter.PACKED, packed);
                        if (local.index() != root || source.isRemote()) {
                            MemorySegment.copy(
                                    local.region(root),
                                    stage,
                                    output,
                                    outputOffset + round * RegionLayout.STAGE_BYTES,
                                    StagedPipeline.bytesInRound(length, round));
                        }
                    }
                });
    }

    /// The source of the root's bytes.
    public interface Source {
        /// Writes `count` bytes from `position` on to `region` at offset `stage`.
        void fill(long position, long count, MemorySegment region, long stage);

        /// Whether the bytes come from another host, so that the root must copy them out as well.
        default boolean isRemote() {
            return false;
        }
    }
}
