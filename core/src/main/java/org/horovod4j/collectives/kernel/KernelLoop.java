package org.horovod4j.collectives.kernel;

import org.horovod4j.ReduceOp;

import java.lang.foreign.MemorySegment;

/// The hot loop of one data type, one op and one twin.
///
/// Each loop is a method of its own, with its op written out: the compiler keeps profiles per
/// method, and turns a vector operation into one instruction only where it sees which operation it
/// is.
@FunctionalInterface
interface KernelLoop {
    /// `target[i] = left[i] op right[i]` for all elements from byte `from` on.
    ///
    /// The three segments are of one size. Whoever slices them has checked the bounds, and one
    /// index serves all three.
    void run(MemorySegment target, MemorySegment left, MemorySegment right, long from);

    /// Says that `op` is not computed element by element.
    static IllegalArgumentException unsupported(ReduceOp op) {
        return new IllegalArgumentException(op + " does not combine element by element");
    }
}
