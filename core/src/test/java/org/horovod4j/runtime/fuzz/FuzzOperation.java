package org.horovod4j.runtime.fuzz;

import org.horovod4j.DataType;
import org.horovod4j.ReduceOp;
import org.horovod4j.Shape;
import org.horovod4j.runtime.message.CollectiveKind;

/// A named operation of a program that repeats, without its values.
///
/// @param name of its tensor, or of its group
/// @param collectiveKind which collective
/// @param type of its elements
/// @param shape of its tensor; where row counts may differ, with the most rows
/// @param op the reduction, for collectives that reduce
/// @param members the number of tensors: more than one form a group
/// @param set the index of the process set it runs in, or -1 for all ranks
record FuzzOperation(
        String name,
        CollectiveKind collectiveKind,
        DataType type,
        Shape shape,
        ReduceOp op,
        int members,
        int set) {
    FuzzOperation named(String other) {
        return new FuzzOperation(other, collectiveKind, type, shape, op, members, set);
    }

    FuzzOperation shaped(Shape other) {
        return new FuzzOperation(name, collectiveKind, type, other, op, members, set);
    }

    FuzzOperation typed(DataType other) {
        return new FuzzOperation(name, collectiveKind, other, shape, op, members, set);
    }

    @Override
    public String toString() {
        return "%s of '%s', %d x %s%s, %s%s"
                .formatted(
                        collectiveKind,
                        name,
                        members,
                        type,
                        shape,
                        op,
                        set < 0 ? "" : ", set " + set);
    }
}
