package org.horovod4j.collectives.algorithm;

import org.horovod4j.transport.Sink;

import java.lang.foreign.MemorySegment;

/// Recursive doubling: pairs, then pairs of pairs exchange all they have and combine it. The
/// farthest partners come first, as in [HalvingDoublingAllreduce], so that both give the same bits.
///
/// | steps      | bytes sent by each member  |
/// |------------|----------------------------|
/// | `log2 n`   | `log2 n` times the tensor  |
///
/// The choice for small tensors, and for two members at any size: it then sends as few bytes as a
/// ring, in one step instead of two.
public final class DoublingAllreduce implements Allreduce {
    @Override
    public void run(Group group, Operands operands) {
        Fold fold = new Fold(group);
        fold.around(
                operands,
                position -> {
                    for (int distance = fold.size() / 2; distance >= 1; distance /= 2) {
                        int partner = position ^ distance;
                        swap(
                                group,
                                operands,
                                fold.member(partner),
                                partner < position,
                                distance == 1);
                    }
                });
    }

    private static void swap(
            Group group, Operands operands, int partner, boolean partnerFirst, boolean last) {
        Sink combine = operands.combining(0, operands.count(), partnerFirst, last);
        group.exchange(
                partner,
                operands.memory(),
                operands.at(0),
                operands.byteSize(),
                partner,
                new BehindSender(group, combine));
    }

    /// Holds a combination back until what it overwrites has been sent.
    private record BehindSender(Group group, Sink sink) implements Sink {
        @Override
        public long length() {
            return sink.length();
        }

        @Override
        public long limit() {
            return group.wire().taken();
        }

        @Override
        public int granularity() {
            return sink.granularity();
        }

        @Override
        public void take(MemorySegment piece, long offset, long position, long count) {
            sink.take(piece, offset, position, count);
        }
    }
}
