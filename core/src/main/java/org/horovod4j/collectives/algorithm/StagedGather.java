package org.horovod4j.collectives.algorithm;

import org.horovod4j.transport.Neighbourhood;
import org.horovod4j.transport.Region;
import org.horovod4j.transport.Region.Counter;

import java.lang.foreign.MemorySegment;

/// Allgather of ranks on one host: everybody packs its piece, everybody copies all pieces out.
///
/// | rounds                    | bytes copied by each rank     |
/// |---------------------------|-------------------------------|
/// | longest piece / 512 KiB   | its own in, all pieces out    |
public final class StagedGather {
    private final Neighbourhood near;
    private final StagedRounds rounds;

    public StagedGather(Neighbourhood near) {
        this.near = near;
        this.rounds = new StagedRounds(near);
    }

    /// Gives `target` each member's `sizes[member]` bytes; those of this rank come from `source`.
    public void run(Source source, long[] sizes, Target target) {
        long longest = 0;
        for (long size : sizes) {
            longest = Math.max(longest, size);
        }
        rounds.run(
                (longest + Region.STAGE_BYTES - 1) / Region.STAGE_BYTES,
                new StagedRounds.Work() {
                    @Override
                    public void pack(long round, long stage) {
                        long bytes = StagedRounds.piece(sizes[near.index()], round);
                        if (bytes > 0) {
                            source.pack(
                                    round * Region.STAGE_BYTES,
                                    bytes,
                                    near.region(near.index()),
                                    stage);
                        }
                    }

                    @Override
                    public void unpack(long round, long stage, long packed) {
                        for (int member = 0; member < sizes.length; member++) {
                            long bytes = StagedRounds.piece(sizes[member], round);
                            if (bytes > 0) {
                                near.await(member, Counter.PACKED, packed);
                                target.unpack(
                                        member,
                                        near.region(member),
                                        stage,
                                        round * Region.STAGE_BYTES,
                                        bytes);
                            }
                        }
                    }
                });
    }

    /// Where this rank's bytes come from.
    @FunctionalInterface
    public interface Source {
        /// Copies `count` bytes from `first` on to `stage` at `offset`.
        void pack(long first, long count, MemorySegment stage, long offset);
    }

    /// Where everybody's bytes go.
    @FunctionalInterface
    public interface Target {
        /// Takes `count` bytes of `stage` from `offset`, which are those of `member` from `first`
        /// on.
        void unpack(int member, MemorySegment stage, long offset, long first, long count);
    }
}
