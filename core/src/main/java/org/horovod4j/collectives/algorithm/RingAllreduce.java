package org.horovod4j.collectives.algorithm;

/// Ring allreduce: one lap adds, a second lap copies the sums.
///
/// | steps      | bytes sent by each member    |
/// |------------|------------------------------|
/// | `2(n - 1)` | `2(n - 1) / n` of the tensor |
///
/// Used for large tensors: every link is busy all the time, and each member exchanges only with two
/// neighbours. Where the number of steps costs more than bytes, see [HalvingDoublingAllreduce].
public final class RingAllreduce implements Allreduce {
    @Override
    public void run(LinkGroup group, Operands operands) {
        int size = group.size();
        int index = group.index();
        for (int step = 0; step < size - 1; step++) {
            pass(group, operands, index - step, true, step == size - 2);
        }
        for (int step = 0; step < size - 1; step++) {
            pass(group, operands, index + 1 - step, false, false);
        }
    }

    /// Sends a part to the right neighbour and receives the preceding part from the left one.
    private static void pass(
            LinkGroup group, Operands operands, int sent, boolean combine, boolean last) {
        int size = group.size();
        int out = Math.floorMod(sent, size);
        int in = Math.floorMod(sent - 1, size);
        long outStart = operands.partStart(out, size);
        long outEnd = operands.partStart(out + 1, size);
        long inStart = operands.partStart(in, size);
        long inEnd = operands.partStart(in + 1, size);
        group.exchange(
                (group.index() + 1) % size,
                operands.memory(),
                operands.at(outStart),
                operands.bytes(outEnd - outStart),
                Math.floorMod(group.index() - 1, size),
                combine
                        ? operands.combining(inStart, inEnd, true, last)
                        : operands.replacing(inStart, inEnd));
    }
}
