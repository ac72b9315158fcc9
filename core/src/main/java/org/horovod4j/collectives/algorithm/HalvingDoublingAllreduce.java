package org.horovod4j.collectives.algorithm;

import java.util.ArrayDeque;
import java.util.Deque;

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
    public void run(LinkGroup group, Operands operands) {
        PowerOfTwoFold fold = new PowerOfTwoFold(group);
        fold.run(operands, position -> halveAndDouble(group, fold, operands, position));
    }

    private static void halveAndDouble(
            LinkGroup group, PowerOfTwoFold fold, Operands operands, int position) {
        Deque<Split> splits = new ArrayDeque<>();
        long start = 0;
        long end = operands.count();
        for (int distance = fold.size() / 2; distance >= 1; distance /= 2) {
            int partner = position ^ distance;
            Split split = Split.of(start, end, partner, position < partner);
            group.exchange(
                    fold.member(partner),
                    operands.memory(),
                    operands.at(split.givenStart()),
                    operands.bytes(split.givenEnd() - split.givenStart()),
                    fold.member(partner),
                    operands.combining(
                            split.keptStart(), split.keptEnd(), partner < position, distance == 1));
            start = split.keptStart();
            end = split.keptEnd();
            splits.push(split);
        }
        for (Split split : splits) {
            int partner = fold.member(split.partner());
            group.exchange(
                    partner,
                    operands.memory(),
                    operands.at(split.keptStart()),
                    operands.bytes(split.keptEnd() - split.keptStart()),
                    partner,
                    operands.replacing(split.givenStart(), split.givenEnd()));
        }
    }

    /// A range split into two halves: one is kept, the other is given to the partner.
    private record Split(
            int partner, long keptStart, long keptEnd, long givenStart, long givenEnd) {
        static Split of(long start, long end, int partner, boolean keepFirst) {
            long middle = start + (end - start) / 2;
            return keepFirst
                    ? new Split(partner, start, middle, middle, end)
                    : new Split(partner, middle, end, start, middle);
        }
    }
}
