package org.horovod4j.collectives.algorithm;

import java.lang.foreign.MemorySegment;
import org.horovod4j.DataType;
import org.horovod4j.collectives.kernel.Kernel;
import org.horovod4j.transport.Sink;

/// An array outside the heap that is being reduced in place.
///
/// @param kernel combines two arrays of this type
/// @param dataType the elements' type
/// @param memory where the array lies
/// @param offset its first byte
/// @param count its elements
public record Operands(
        Kernel kernel, DataType dataType, MemorySegment memory, long offset, long count) {
    /// No elements: an algorithm run on them only makes its members meet.
    public static final Operands NONE =
            new Operands((_, _, _, _, _, _, _) -> {}, DataType.UINT8, MemorySegment.NULL, 0, 0);

    /// The offset of an element from the start of `memory`.
    long at(long element) {
        return offset + element * dataType.byteSize();
    }

    long bytes(long elements) {
        return elements * dataType.byteSize();
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
    /// @param messageFirst whether the message is the left operand: both ends of a link must agree on
    ///     the order, because it shows in the bits of a NaN
    Sink combining(long start, long end, boolean messageFirst) {
        return new CombiningSink(this, start, end, messageFirst);
    }

    private record CombiningSink(Operands operands, long start, long end, boolean messageFirst)
            implements Sink {
        @Override
        public long length() {
            return operands.bytes(end - start);
        }

        @Override
        public int granularity() {
            return operands.dataType.byteSize();
        }

        @Override
        public void take(MemorySegment piece, long pieceOffset, long position, long bytes) {
            MemorySegment memory = operands.memory;
            long at = operands.at(start) + position;
            long elements = bytes / operands.dataType.byteSize();
            if (messageFirst) {
                operands.kernel.combine(memory, at, piece, pieceOffset, memory, at, elements);
            } else {
                operands.kernel.combine(memory, at, memory, at, piece, pieceOffset, elements);
            }
        }
    }
}
