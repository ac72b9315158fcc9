package org.horovod4j.collectives.algorithm;

import org.horovod4j.transport.Neighbourhood;
import org.horovod4j.transport.Region;
import org.horovod4j.transport.Region.Counter;

import java.lang.foreign.MemorySegment;

/// Allgather of ranks on one host: everybody packs its piece, everybody copies all pieces out.
///
/// | rounds                    | bytes copied by each rank     |
/// |---------------------------|-------------------------------|
/// | longest tensor / 512 KiB  | its own in, all tensors out   |
public final class StagedGather {
    private final Neighbourhood near;
    private final StagedRounds rounds;

    public StagedGather(Neighbourhood near) {
        this.near = near;
        this.rounds = new StagedRounds(near);
    }

    /// Copies each member's `sizes[member]` bytes to `output` at `starts[member]`.
    public void run(MemorySegment input, long[] sizes, MemorySegment output, long[] starts) {
        long longest = 0;
        for (long size : sizes) {
            longest = Math.max(longest, size);
        }
        rounds.run(
                (longest + Region.STAGE_BYTES - 1) / Region.STAGE_BYTES,
                new StagedRounds.Work() {
                    @Override
                    public void pack(long round, long stage) {
                        MemorySegment.copy(
                                input,
                                Math.min(round * Region.STAGE_BYTES, sizes[near.index()]),
                                near.region(near.index()),
                                stage,
                                StagedRounds.piece(sizes[near.index()], round));
                    }

                    @Override
                    public void unpack(long round, long stage, long packed) {
                        for (int member = 0; member < sizes.length; member++) {
                            long bytes = StagedRounds.piece(sizes[member], round);
                            if (bytes > 0) {
                                near.await(member, Counter.PACKED, packed);
                                MemorySegment.copy(
                                        near.region(member),
                                        stage,
                                        output,
                                        starts[member] + round * Region.STAGE_BYTES,
                                        bytes);
                            }
                        }
                    }
                });
    }
}
