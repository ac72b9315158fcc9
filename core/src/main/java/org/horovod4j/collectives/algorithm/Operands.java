package org.horovod4j.collectives.algorithm;

import org.horovod4j.DataType;
import org.horovod4j.ReduceOp;
import org.horovod4j.Scale;
import org.horovod4j.collectives.kernel.Kernels;
import org.horovod4j.transport.Sink;

import java.lang.foreign.MemorySegment;

/// An array that is being reduced in place, over links.
///
/// @param reduction the arithmetic
/// @param memory where the array lies, outside the heap
/// @param offset its first byte
/// @param count its elements
public record Operands(Reduction reduction, MemorySegment memory, long offset, long count) {
    /// No elements: an algorithm run on them only makes its members meet.
    public static final Operands NONE =
            new Reduction(Kernels.scalar(), DataType.UINT8, ReduceOp.SUM, Scale.NONE, 1)
                    .operands(MemorySegment.NULL, 0, 0);

    long byteSize() {
        return count * reduction.byteSize();
    }

    /// The offset of an element from the start of `memory`.
    long at(long element) {
        return offset + element * reduction.byteSize();
    }

    long bytes(long elements) {
        return elements * reduction.byteSize();
    }

    /// Where part `index` of `parts` nearly equal ones begins; part `parts` begins at the end.
    long partStart(int index, int parts) {
        return Parts.start(count, index, parts);
    }

    /// Overwrites elements `start` to `end` with a message.
    Sink replacing(long start, long end) {
        return Sink.into(memory, at(start), bytes(end - start));
    }

    /// Combines elements `start` to `end` with a message.
    ///
    /// @param messageFirst whether the message is the left operand: both ends of a link agree on
    ///     the order
    /// @param last whether these are the last values to come in, so that the result can be averaged
    ///     and scaled while it is in the cache
    Sink combining(long start, long end, boolean messageFirst, boolean last) {
        return new CombiningSink(this, start, end, messageFirst, last);
    }

    private record CombiningSink(
            Operands operands, long start, long end, boolean messageFirst, boolean last)
            implements Sink {
        @Override
        public long length() {
            return operands.bytes(end - start);
        }

        @Override
        public int granularity() {
            return operands.reduction.byteSize();
        }

        @Override
        public void take(MemorySegment piece, long pieceOffset, long position, long bytes) {
            MemorySegment memory = operands.memory;
            long at = operands.at(start) + position;
            Reduction reduction = operands.reduction;
            long elements = bytes / reduction.byteSize();
            if (messageFirst) {
                reduction.combine(memory, at, piece, pieceOffset, memory, at, elements);
            } else {
                reduction.combine(memory, at, memory, at, piece, pieceOffset, elements);
            }
            if (last) {
                reduction.finish(memory, at, elements);
            }
        }
    }
}
