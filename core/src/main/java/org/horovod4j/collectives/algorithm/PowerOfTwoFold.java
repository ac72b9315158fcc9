package org.horovod4j.collectives.algorithm;

/// Reduces a group to a power of two, for algorithms that need one. Some of the first members form
/// pairs: the odd member sends its array to the even one before the algorithm and receives the
/// result afterwards.
///
/// Costs two more steps and two more tensors if the size is not a power of two; otherwise nothing.
final class PowerOfTwoFold {
    private final LinkGroup group;
    private final int folded;

    PowerOfTwoFold(LinkGroup group) {
        this.group = group;
        this.folded = group.size() - Integer.highestOneBit(group.size());
    }

    /// The number of members that run the algorithm: a power of two.
    int size() {
        return group.size() - folded;
    }

    /// Runs `step` between folding and unfolding, on the members that take part.
    void run(Operands operands, FoldedStep step) {
        int index = group.index();
        long bytes = operands.byteSize();
        if (index >= 2 * folded) {
            step.run(index - folded);
        } else if (index % 2 == 0) {
            group.receive(index + 1, operands.combining(0, operands.count(), false, false));
            step.run(index / 2);
            group.pointToPoint().awaitAll();
            group.send(index + 1, operands.memory(), operands.at(0), bytes);
        } else {
            group.send(index - 1, operands.memory(), operands.at(0), bytes);
            group.receive(index - 1, operands.replacing(0, operands.count()));
        }
    }

    /// The index in the group of the member at `position` among those that take part.
    int member(int position) {
        return position < folded ? 2 * position : position + folded;
    }

    /// The algorithm between folding and unfolding.
    interface FoldedStep {
        /// Starts this member's part of the algorithm.
        ///
        /// @param position the position of this member among those that take part
        void run(int position);
    }
}
