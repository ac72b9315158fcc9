package org.horovod4j.collectives.algorithm;

import org.horovod4j.DataType;
import org.horovod4j.ReduceOp;
import org.horovod4j.Scale;
import org.horovod4j.collectives.kernel.Kernels;
import org.horovod4j.transport.MessageSink;

import java.lang.foreign.MemorySegment;

/// An array that is reduced in place over links.
///
/// @param reduction the arithmetic
/// @param memory the off-heap memory that contains the array
/// @param offset the offset of its first byte
/// @param count the number of its elements
public record Operands(ScaledReduction reduction, MemorySegment memory, long offset, long count) {
    /// No elements: an algorithm with these operands is a barrier.
    public static final Operands NONE =
            new ScaledReduction(Kernels.scalar(), DataType.UINT8, ReduceOp.SUM, Scale.NONE, 1)
                    .operands(MemorySegment.NULL, 0, 0);

    long byteSize() {
        return count * reduction.byteSize();
    }

    /// The offset of an element in `memory`.
    long at(long element) {
        return offset + element * reduction.byteSize();
    }

    long bytes(long elements) {
        return elements * reduction.byteSize();
    }

    /// The first element of part `index` of `parts` nearly equal ones; `count` for
    /// `index == parts`.
    long partStart(int index, int parts) {
        return Partition.start(count, index, parts);
    }

    /// A sink that overwrites elements `start` to `end` with a message.
    MessageSink replacing(long start, long end) {
        return MessageSink.into(memory, at(start), bytes(end - start));
    }

    /// A sink that combines elements `start` to `end` with a message.
    ///
    /// @param messageFirst whether the message is the left operand. Both ends of a link use the
    ///     same order
    /// @param last whether this is the last message, so that the result is divided and scaled while
    ///     it is in the cache
    MessageSink combining(long start, long end, boolean messageFirst, boolean last) {
        return new CombiningSink(this, start, end, messageFirst, last);
    }

    private record CombiningSink(
            Operands operands, long start, long end, boolean messageFirst, boolean last)
            implements MessageSink {
        @Override
        public long length() {
            return operands.bytes(end - start);
        }

        @Override
        public int granularity() {
            return operands.reduction.byteSize();
        }

        @Override
        public void accept(MemorySegment piece, long pieceOffset, long position, long bytes) {
            MemorySegment memory = operands.memory;
            long at = operands.at(start) + position;
            ScaledReduction reduction = operands.reduction;
            long elements = bytes / reduction.byteSize();
            if (messageFirst) {
                reduction.combine(memory, at, piece, pieceOffset, memory, at, elements);
            } else {
                reduction.combine(memory, at, memory, at, piece, pieceOffset, elements);
            }
            if (last) {
                reduction.postscale(memory, at, elements);
            }
        }
    }
}
