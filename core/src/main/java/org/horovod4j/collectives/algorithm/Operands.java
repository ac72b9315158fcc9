package org.horovod4j.collectives.algorithm;

import org.horovod4j.DataType;
import org.horovod4j.ReduceOp;
import org.horovod4j.Scale;
import org.horovod4j.collectives.kernel.Kernels;
import org.horovod4j.transport.MessageSink;

import java.lang.foreign.MemorySegment;

/// An array that is being reduced in place, over links.
///
/// @param scaledReduction the arithmetic
/// @param memory where the array lies, outside the heap
/// @param offset its first byte
/// @param count its elements
public record Operands(
        ScaledReduction scaledReduction, MemorySegment memory, long offset, long count) {
    /// No elements: an algorithm run on them only makes its members meet.
    public static final Operands NONE =
            new ScaledReduction(Kernels.scalar(), DataType.UINT8, ReduceOp.SUM, Scale.NONE, 1)
                    .operands(MemorySegment.NULL, 0, 0);

    long byteSize() {
        return count * scaledReduction.byteSize();
    }

    /// The offset of an element from the start of `memory`.
    long at(long element) {
        return offset + element * scaledReduction.byteSize();
    }

    long bytes(long elements) {
        return elements * scaledReduction.byteSize();
    }

    /// Where part `index` of `parts` nearly equal ones begins; part `parts` begins at the end.
    long partStart(int index, int parts) {
        return Partition.start(count, index, parts);
    }

    /// Overwrites elements `start` to `end` with a message.
    MessageSink replacing(long start, long end) {
        return MessageSink.into(memory, at(start), bytes(end - start));
    }

    /// Combines elements `start` to `end` with a message.
    ///
    /// @param messageFirst whether the message is the left operand: both ends of a link agree on
    ///     the order
    /// @param last whether these are the last values to come in, so that the result can be averaged
    ///     and scaled while it is in the cache
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
            return operands.scaledReduction.byteSize();
        }

        @Override
        public void accept(MemorySegment piece, long pieceOffset, long position, long bytes) {
            MemorySegment memory = operands.memory;
            long at = operands.at(start) + position;
            ScaledReduction scaledReduction = operands.scaledReduction;
            long elements = bytes / scaledReduction.byteSize();
            if (messageFirst) {
                scaledReduction.combine(memory, at, piece, pieceOffset, memory, at, elements);
            } else {
                scaledReduction.combine(memory, at, memory, at, piece, pieceOffset, elements);
            }
            if (last) {
                scaledReduction.finish(memory, at, elements);
            }
        }
    }
}
