package org.horovod4j.collectives.algorithm;

import org.horovod4j.transport.LocalGroup;
import org.horovod4j.transport.RegionLayout;
import org.horovod4j.transport.RegionLayout.Counter;

import java.lang.foreign.MemorySegment;

/// Broadcast to ranks on one host: one packs, the others copy out.
///
/// | rounds           | bytes copied by each rank |
/// |------------------|---------------------------|
/// | tensor / 512 KiB | tensor                    |
public final class StagedBroadcast {
    private final LocalGroup local;
    private final StagedPipeline rounds;

    public StagedBroadcast(LocalGroup local) {
        this.local = local;
        this.rounds = new StagedPipeline(local);
    }

    /// Gives every member the `length` bytes that `source` brings to `root`'s stage, piece by
    /// piece.
    public void run(int root, Source source, MemorySegment output, long outputOffset, long length) {
        rounds.run(
                (length + RegionLayout.STAGE_BYTES - 1) / RegionLayout.STAGE_BYTES,
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

    /// Where the root's bytes come from.
    public interface Source {
        /// Brings `count` bytes from `position` to `stage` of `region`.
        void fill(long position, long count, MemorySegment region, long stage);

        /// Whether the bytes come from elsewhere, so that the root has to copy them out as well.
        default boolean isRemote() {
            return false;
        }
    }
}
