package org.horovod4j.collectives.algorithm;

import org.horovod4j.transport.OutgoingMessage;

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
    public void start(LinkGroup group, Operands operands) {
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

    /// Combines each element after it was sent.
    private static void exchange(
            LinkGroup group, Operands operands, int partner, boolean partnerFirst, boolean last) {
        group.open(partner, partner);
        OutgoingMessage sent =
                group.startSend(partner, operands.memory(), operands.at(0), operands.byteSize());
        group.startReceive(
                partner, operands.combining(0, operands.count(), partnerFirst, last), sent);
        if (group.size() > 2) {
            group.pointToPoint().awaitAll(); // what follows sends the result
        }
    }
}
