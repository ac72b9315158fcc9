package org.horovod4j.collectives.algorithm;

/// Binomial tree: arrays are added on the way to member 0, and the sum is copied on the way back.
///
/// | steps              | bytes sent by each member       |
/// |--------------------|---------------------------------|
/// | `2 log2 n`, rounded up | at most `log2 n` tensors, usually one |
///
/// The cheapest barrier, with [Operands#NONE]. For data, [DoublingAllreduce] sends more messages,
/// but in parallel; so this algorithm is used only if it is configured.
public final class TreeAllreduce implements Allreduce {
    @Override
    public void start(LinkGroup group, Operands operands) {
        int index = group.index();
        long bytes = operands.byteSize();
        int distance = 1;
        while (distance < group.size() && (index & distance) == 0) {
            if (index + distance < group.size()) {
                boolean last = index == 0 && 2 * distance >= group.size();
                group.receive(
                        index + distance, operands.combining(0, operands.count(), false, last));
            }
            distance *= 2;
        }
        if (index != 0) {
            int parent = index - distance;
            group.send(parent, operands.memory(), operands.at(0), bytes);
            group.receive(parent, operands.replacing(0, operands.count()));
        }
        for (distance /= 2; distance >= 1; distance /= 2) {
            if (index + distance < group.size()) {
                group.send(index + distance, operands.memory(), operands.at(0), bytes);
            }
        }
    }
}
