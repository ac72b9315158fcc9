package org.horovod4j.collectives.algorithm;

import org.horovod4j.transport.Neighbourhood;
import org.horovod4j.transport.Region;
import org.horovod4j.transport.Region.Counter;

import java.lang.foreign.MemorySegment;

/// Broadcast to ranks on one host: one packs, the others copy out.
///
/// | rounds           | bytes copied by each rank |
/// |------------------|---------------------------|
/// | tensor / 512 KiB | tensor                    |
public final class StagedBroadcast {
    private final Neighbourhood near;
    private final StagedRounds rounds;

    public StagedBroadcast(Neighbourhood near) {
        this.near = near;
        this.rounds = new StagedRounds(near);
    }

    /// Gives every member the `length` bytes that `source` brings to `root`'s stage, piece by
    /// piece.
    public void run(int root, Source source, MemorySegment output, long outputOffset, long length) {
        rounds.run(
                (length + Region.STAGE_BYTES - 1) / Region.STAGE_BYTES,
                new StagedRounds.Work() {
                    @Override
                    public void pack(long round, long stage) {
                        if (near.index() == root) {
                            long position = round * Region.STAGE_BYTES;
                            source.bring(
                                    position,
                                    StagedRounds.piece(length, round),
                                    near.region(root),
                                    stage);
                        }
                    }

                    @Override
                    public void unpack(long round, long stage, long packed) {
                        near.await(root, Counter.PACKED, packed);
                        if (near.index() != root || source.isForeign()) {
                            MemorySegment.copy(
                                    near.region(root),
                                    stage,
                                    output,
                                    outputOffset + round * Region.STAGE_BYTES,
                                    StagedRounds.piece(length, round));
                        }
                    }
                });
    }

    /// Where the root's bytes come from.
    public interface Source {
        /// Brings `count` bytes from `position` to `stage` of `region`.
        void bring(long position, long count, MemorySegment region, long stage);

        /// Whether the bytes come from elsewhere, so that the root has to copy them out as well.
        default boolean isForeign() {
            return false;
        }
    }
}
