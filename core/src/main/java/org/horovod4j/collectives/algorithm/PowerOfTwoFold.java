package org.horovod4j.collectives.algorithm;

/// Makes a group's size a power of two, for algorithms that need one: of the first members, every
/// odd one hands its array to its left neighbour before, and takes the result from it afterwards.
///
/// Costs two steps and two tensors more when the size is not a power of two, nothing otherwise.
final class PowerOfTwoFold {
    private final LinkGroup linkGroup;
    private final int folded;

    PowerOfTwoFold(LinkGroup linkGroup) {
        this.linkGroup = linkGroup;
        this.folded = linkGroup.size() - Integer.highestOneBit(linkGroup.size());
    }

    /// How many members take part in the middle: a power of two.
    int size() {
        return linkGroup.size() - folded;
    }

    /// Runs `middle` between folding and unfolding, on those that take part.
    void run(Operands operands, FoldedStep foldedStep) {
        int index = linkGroup.index();
        long bytes = operands.byteSize();
        if (index >= 2 * folded) {
            foldedStep.run(index - folded);
        } else if (index % 2 == 0) {
            linkGroup.receive(index + 1, operands.combining(0, operands.count(), false, false));
            foldedStep.run(index / 2);
            linkGroup.send(index + 1, operands.memory(), operands.at(0), bytes);
        } else {
            linkGroup.send(index - 1, operands.memory(), operands.at(0), bytes);
            linkGroup.receive(index - 1, operands.replacing(0, operands.count()));
        }
    }

    /// The member of the group that is `position` in the middle.
    int member(int position) {
        return position < folded ? 2 * position : position + folded;
    }

    /// What happens between folding and unfolding.
    interface FoldedStep {
        /// Does this member's share.
        ///
        /// @param position this member among those that take part
        void run(int position);
    }
}
