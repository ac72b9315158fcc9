package org.horovod4j.collectives.algorithm;

import java.util.ArrayDeque;
import java.util.Deque;

/// Halving-doubling (Rabenseifner): partners swap and add halves, then quarters and so on, until
/// each owns an n-th; the way back copies.
///
/// | steps      | bytes sent by each member    |
/// |------------|------------------------------|
/// | `2 log2 n` | `2(n - 1) / n` of the tensor |
///
/// The choice for middling tensors: as few bytes as a ring in fewer steps. But a member talks to
/// `log2 n` others, far and near, where a ring keeps to its neighbours. See [PowerOfTwoFold] for sizes that
/// are not a power of two.
public final class HalvingDoublingAllreduce implements Allreduce {
    @Override
    public void run(LinkGroup linkGroup, Operands operands) {
        PowerOfTwoFold powerOfTwoFold = new PowerOfTwoFold(linkGroup);
        powerOfTwoFold.run(
                operands,
                position -> halveAndDouble(linkGroup, powerOfTwoFold, operands, position));
    }

    private static void halveAndDouble(
            LinkGroup linkGroup, PowerOfTwoFold powerOfTwoFold, Operands operands, int position) {
        Deque<Split> splits = new ArrayDeque<>();
        long start = 0;
        long end = operands.count();
        for (int distance = powerOfTwoFold.size() / 2; distance >= 1; distance /= 2) {
            int partner = position ^ distance;
            Split split = Split.of(start, end, partner, position < partner);
            linkGroup.exchange(
                    powerOfTwoFold.member(partner),
                    operands.memory(),
                    operands.at(split.givenStart()),
                    operands.bytes(split.givenEnd() - split.givenStart()),
                    powerOfTwoFold.member(partner),
                    operands.combining(
                            split.keptStart(), split.keptEnd(), partner < position, distance == 1));
            start = split.keptStart();
            end = split.keptEnd();
            splits.push(split);
        }
        for (Split split : splits) {
            int partner = powerOfTwoFold.member(split.partner());
            linkGroup.exchange(
                    partner,
                    operands.memory(),
                    operands.at(split.keptStart()),
                    operands.bytes(split.keptEnd() - split.keptStart()),
                    partner,
                    operands.replacing(split.givenStart(), split.givenEnd()));
        }
    }

    /// A range cut in two: one half is kept, the other given to the partner.
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
