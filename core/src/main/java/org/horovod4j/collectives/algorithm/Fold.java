package org.horovod4j.collectives.algorithm;

/// Makes a group's size a power of two, for algorithms that need one: of the first members, every
/// odd one hands its array to its left neighbour before, and takes the result from it afterwards.
///
/// Costs two steps and two tensors more when the size is not a power of two, nothing otherwise.
final class Fold {
    private final Group group;
    private final int folded;

    Fold(Group group) {
        this.group = group;
        this.folded = group.size() - Integer.highestOneBit(group.size());
    }

    /// How many members take part in the middle: a power of two.
    int size() {
        return group.size() - folded;
    }

    /// Runs `middle` between folding and unfolding, on those that take part.
    void around(Operands operands, Middle middle) {
        int index = group.index();
        long bytes = operands.byteSize();
        if (index >= 2 * folded) {
            middle.run(index - folded);
        } else if (index % 2 == 0) {
            group.receive(index + 1, operands.combining(0, operands.count(), false, false));
            middle.run(index / 2);
            group.send(index + 1, operands.memory(), operands.at(0), bytes);
        } else {
            group.send(index - 1, operands.memory(), operands.at(0), bytes);
            group.receive(index - 1, operands.replacing(0, operands.count()));
        }
    }

    /// The member of the group that is `position` in the middle.
    int member(int position) {
        return position < folded ? 2 * position : position + folded;
    }

    /// What happens between folding and unfolding.
    interface Middle {
        /// Does this member's share.
        ///
        /// @param position this member among those that take part
        void run(int position);
    }
}
