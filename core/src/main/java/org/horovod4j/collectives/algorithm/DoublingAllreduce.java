package org.horovod4j.collectives.algorithm;

import org.horovod4j.transport.MessageSink;

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
    public void run(LinkGroup linkGroup, Operands operands) {
        PowerOfTwoFold powerOfTwoFold = new PowerOfTwoFold(linkGroup);
        powerOfTwoFold.run(
                operands,
                position -> {
                    for (int distance = powerOfTwoFold.size() / 2; distance >= 1; distance /= 2) {
                        int partner = position ^ distance;
                        exchange(
                                linkGroup,
                                operands,
                                powerOfTwoFold.member(partner),
                                partner < position,
                                distance == 1);
                    }
                });
    }

    private static void exchange(
            LinkGroup linkGroup,
            Operands operands,
            int partner,
            boolean partnerFirst,
            boolean last) {
        MessageSink combine = operands.combining(0, operands.count(), partnerFirst, last);
        linkGroup.exchange(
                partner,
                operands.memory(),
                operands.at(0),
                operands.byteSize(),
                partner,
                new AfterSendSink(linkGroup, combine));
    }

    /// Holds a combination back until what it overwrites has been sent.
    private record AfterSendSink(LinkGroup linkGroup, MessageSink messageSink)
            implements MessageSink {
        @Override
        public long length() {
            return messageSink.length();
        }

        @Override
        public long limit() {
            return linkGroup.pointToPoint().reusableBytes();
        }

        @Override
        public int granularity() {
            return messageSink.granularity();
        }

        @Override
        public void accept(MemorySegment piece, long offset, long position, long count) {
            messageSink.accept(piece, offset, position, count);
        }
    }
}
