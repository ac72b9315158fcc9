package org.horovod4j.collectives.algorithm;

import org.horovod4j.transport.IncomingMessage;

import java.util.ArrayDeque;
import java.util.Deque;
import java.util.Iterator;

/// Halving-doubling (Rabenseifner): partners exchange and add halves, then quarters and so on,
/// until each member has the sum of one `n`-th. The same steps in reverse order copy the sums.
///
/// | steps      | bytes sent by each member    |
/// |------------|------------------------------|
/// | `2 log2 n` | `2(n - 1) / n` of the tensor |
///
/// Used for medium tensors: it sends as few bytes as a ring, in fewer steps. But each member
/// exchanges with `log2 n` others, near and distant ones, while a ring uses only neighbours. See
/// [PowerOfTwoFold] for sizes that are not a power of two.
public final class HalvingDoublingAllreduce implements Allreduce {
    @Override
    public void start(LinkGroup group, Operands operands) {
        PowerOfTwoFold fold = new PowerOfTwoFold(group);
        fold.run(operands, position -> halveAndDouble(group, fold, operands, position));
    }

    /// Each step sends a part of what arrives in the step before, as it arrives.
    private static void halveAndDouble(
            LinkGroup group, PowerOfTwoFold fold, Operands operands, int position) {
        Deque<Split> splits = new ArrayDeque<>();
        long start = 0;
        long end = operands.count();
        for (int distance = fold.size() / 2; distance >= 1; distance /= 2) {
            int partner = position ^ distance;
            group.open(fold.member(partner), fold.member(partner));
            Split split = Split.of(start, end, fold.member(partner), position < partner);
            splits.push(split);
            start = split.keptStart();
            end = split.keptEnd();
        }
        IncomingMessage received = null;
        long receivedStart = 0;
        for (Iterator<Split> down = splits.descendingIterator(); down.hasNext(); ) {
            Split split = down.next();
            group.startForward(
                    split.partner(),
                    operands.memory(),
                    operands.at(split.givenStart()),
                    operands.bytes(split.givenEnd() - split.givenStart()),
                    received,
                    operands.bytes(split.givenStart() - receivedStart));
            received =
                    group.startReceive(
                            split.partner(),
                            operands.combining(
                                    split.keptStart(),
                                    split.keptEnd(),
                                    !split.keepsFirst(),
                                    !down.hasNext()));
            receivedStart = split.keptStart();
        }
        for (Split split : splits) {
            group.startForward(
                    split.partner(),
                    operands.memory(),
                    operands.at(split.keptStart()),
                    operands.bytes(split.keptEnd() - split.keptStart()),
                    received,
                    operands.bytes(split.keptStart() - receivedStart));
            received =
                    group.startReceive(
                            split.partner(),
                            operands.replacing(split.givenStart(), split.givenEnd()));
            receivedStart = split.givenStart();
        }
    }

    /// A range split into two halves: one is kept, the other is given to the partner.
    ///
    /// @param partner the index of the partner in the group
    private record Split(
            int partner, long keptStart, long keptEnd, long givenStart, long givenEnd) {
        /// Whether the member keeps the first half, as the lower one of two partners does.
        boolean keepsFirst() {
            return keptStart < givenStart;
        }

        static Split of(long start, long end, int partner, boolean keepFirst) {
            long middle = start + (end - start) / 2;
            return keepFirst
                    ? new Split(partner, start, middle, middle, end)
                    : new Split(partner, middle, end, start, middle);
        }
    }
}
