package org.horovod4j.collectives.algorithm;

import org.horovod4j.transport.IncomingMessage;
import org.horovod4j.transport.MessageSink;

/// Ring allreduce: one lap adds, a second lap copies the sums.
///
/// | steps      | bytes sent by each member    |
/// |------------|------------------------------|
/// | `2(n - 1)` | `2(n - 1) / n` of the tensor |
///
/// Used for large tensors: every link is busy all the time, and each member exchanges only with two
/// neighbours. Where the number of steps costs more than bytes, see [HalvingDoublingAllreduce].
///
/// Each step sends the part that arrives in the step before, as it arrives. So a link is idle only
/// if it sends a part in less time than its latency. Parts that are overwritten in the second lap
/// were sent before: a byte comes back only after it has gone around the ring.
public final class RingAllreduce implements Allreduce {
    @Override
    public void start(LinkGroup group, Operands operands) {
        int size = group.size();
        int right = (group.index() + 1) % size;
        int left = Math.floorMod(group.index() - 1, size);
        group.open(right, left);
        IncomingMessage received = null;
        for (int step = 0; step < 2 * (size - 1); step++) {
            int out = Math.floorMod(group.index() - step, size);
            long outStart = operands.partStart(out, size);
            long outEnd = operands.partStart(out + 1, size);
            group.startForward(
                    right,
                    operands.memory(),
                    operands.at(outStart),
                    operands.bytes(outEnd - outStart),
                    received);
            received = group.startReceive(left, sink(operands, out, step, size));
        }
    }

    /// Takes the part before `out`: adds to it in the first lap, replaces it in the second.
    private static MessageSink sink(Operands operands, int out, int step, int size) {
        int in = Math.floorMod(out - 1, size);
        long start = operands.partStart(in, size);
        long end = operands.partStart(in + 1, size);
        return step < size - 1
                ? operands.combining(start, end, true, step == size - 2)
                : operands.replacing(start, end);
    }
}
