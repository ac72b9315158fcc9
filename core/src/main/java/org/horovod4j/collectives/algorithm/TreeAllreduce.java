package org.horovod4j.collectives.algorithm;

/// Binomial tree: arrays are added on the way to member 0, and the sum is copied on the way back.
///
/// | steps              | bytes sent by each member       |
/// |--------------------|---------------------------------|
/// | `2 log2 n`, rounded up | at most `log2 n` times the tensor, mostly once |
///
/// With no elements at all, the cheapest barrier. Of elements, [DoublingAllreduce] sends more
/// messages, but all at once, so that this one is left to those who ask for it.
public final class TreeAllreduce implements Allreduce {
    @Override
    public void run(LinkGroup linkGroup, Operands operands) {
        int index = linkGroup.index();
        long bytes = operands.byteSize();
        int distance = 1;
        while (distance < linkGroup.size() && (index & distance) == 0) {
            if (index + distance < linkGroup.size()) {
                boolean last = index == 0 && 2 * distance >= linkGroup.size();
                linkGroup.receive(
                        index + distance, operands.combining(0, operands.count(), false, last));
            }
            distance *= 2;
        }
        if (index != 0) {
            int parent = index - distance;
            linkGroup.send(parent, operands.memory(), operands.at(0), bytes);
            linkGroup.receive(parent, operands.replacing(0, operands.count()));
        }
        for (distance /= 2; distance >= 1; distance /= 2) {
            if (index + distance < linkGroup.size()) {
                linkGroup.send(index + distance, operands.memory(), operands.at(0), bytes);
            }
        }
    }
}
