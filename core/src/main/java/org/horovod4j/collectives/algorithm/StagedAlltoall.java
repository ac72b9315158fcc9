package org.horovod4j.collectives.algorithm;

import org.horovod4j.transport.Neighbourhood;
import org.horovod4j.transport.Region;
import org.horovod4j.transport.Region.Counter;

import java.lang.foreign.MemorySegment;

/// Alltoall of ranks on one host: a stage holds a slot for each receiver.
///
/// | rounds                            | bytes copied by each rank    |
/// |-----------------------------------|------------------------------|
/// | longest piece / (512 KiB / `n`)   | all it sends, all it receives |
public final class StagedAlltoall {
    private final Neighbourhood near;
    private final StagedRounds rounds;
    private final long slot;

    public StagedAlltoall(Neighbourhood near) {
        this.near = near;
        this.rounds = new StagedRounds(near);
        this.slot = Region.STAGE_BYTES / near.size();
    }

    /// Sends and receives a piece for each member.
    ///
    /// @param longest the longest piece of any pair of members
    public void run(
            Pieces out, MemorySegment input, Pieces in, MemorySegment output, long longest) {
        rounds.run(
                (longest + slot - 1) / slot,
                new StagedRounds.Work() {
                    @Override
                    public void pack(long round, long stage) {
                        for (int member = 0; member < near.size(); member++) {
                            MemorySegment.copy(
                                    input,
                                    out.start(member) + out.before(member, round, slot),
                                    near.region(near.index()),
                                    stage + member * slot,
                                    out.length(member, round, slot));
                        }
                    }

                    @Override
                    public void unpack(long round, long stage, long packed) {
                        for (int member = 0; member < near.size(); member++) {
                            long bytes = in.length(member, round, slot);
                            if (bytes > 0) {
                                near.await(member, Counter.PACKED, packed);
                                MemorySegment.copy(
                                        near.region(member),
                                        stage + near.index() * slot,
                                        output,
                                        in.start(member) + round * slot,
                                        bytes);
                            }
                        }
                    }
                });
    }

    /// Where each peer's piece starts in a buffer, and its bytes.
    public static final class Pieces {
        private final long[] starts;
        private final long[] sizes;

        public Pieces(long[] starts, long[] sizes) {
            this.starts = starts.clone();
            this.sizes = sizes.clone();
        }

        public long start(int peer) {
            return starts[peer];
        }

        public long size(int peer) {
            return sizes[peer];
        }

        private long before(int member, long round, long slot) {
            return Math.min(round * slot, sizes[member]);
        }

        private long length(int member, long round, long slot) {
            return Math.clamp(sizes[member] - round * slot, 0, slot);
        }
    }
}
