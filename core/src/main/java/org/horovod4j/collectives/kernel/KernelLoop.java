package org.horovod4j.collectives.kernel;

import org.horovod4j.ReduceOp;

import java.lang.foreign.MemorySegment;

/// The hot loop of one data type, one op and one variant.
///
/// Each loop is a separate method with a fixed op: the compiler keeps profiles per method, and
/// compiles a vector operation to one instruction only if it knows the operation.
@FunctionalInterface
interface KernelLoop {
    /// `target[i] = left[i] op right[i]` for all elements from byte `from` on.
    ///
    /// The three segments have the same size, which the caller ensures.
    void run(MemorySegment target, MemorySegment left, MemorySegment right, long from);

    /// The exception for an `op` that is not computed element by element.
    static IllegalArgumentException unsupported(ReduceOp op) {
        return new IllegalArgumentException(op + " is not computed element by element");
    }
}
