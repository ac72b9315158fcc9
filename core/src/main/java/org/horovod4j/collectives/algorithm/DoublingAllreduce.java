package org.horovod4j.collectives.algorithm;

import org.horovod4j.transport.MessageSink;

import java.lang.foreign.MemorySegment;

/// Recursive doubling: in each step two partners exchange and combine all their data. The most
/// distant partners come first, as in [HalvingDoublingAllreduce], so that both give the same bits.
///
/// | steps      | bytes sent by each member  |
/// |------------|----------------------------|
/// | `log2 n`   | `log2 n` times the tensor  |
///
/// Used for small tensors, and for two members at any size: then it sends as few bytes as a ring,
/// in one step instead of two.
public final class DoublingAllreduce implements Allreduce {
    @Override
    public void run(LinkGroup group, Operands operands) {
        PowerOfTwoFold fold = new PowerOfTwoFold(group);
        fold.run(
                operands,
                position -> {
                    for (int distance = fold.size() / 2; distance >= 1; distance /= 2) {
                        int partner = position ^ distance;
                        exchange(
                                group,
                                operands,
                                fold.member(partner),
                                partner < position,
                                distance == 1);
                    }
                });
    }

    private static void exchange(
            LinkGroup group, Operands operands, int partner, boolean partnerFirst, boolean last) {
        MessageSink combine = operands.combining(0, operands.count(), partnerFirst, last);
        group.exchange(
                partner,
                operands.memory(),
                operands.at(0),
                operands.byteSize(),
                partner,
                new AfterSendSink(group, combine));
    }

    /// Delays combining until the data that it overwrites has been sent.
    private record AfterSendSink(LinkGroup group, MessageSink sink) implements MessageSink {
        @Override
        public long length() {
            return sink.length();
        }

        @Override
        public long limit() {
            return group.pointToPoint().reusableBytes();
        }

        @Override
        public int granularity() {
            return sink.granularity();
        }

        @Override
        public void accept(MemorySegment piece, long offset, long position, long count) {
            sink.accept(piece, offset, position, count);
        }
    }
}
