package org.horovod4j.collectives.algorithm;

import java.lang.foreign.MemorySegment;
import org.horovod4j.DataType;
import org.horovod4j.ReduceOp;
import org.horovod4j.Scale;
import org.horovod4j.collectives.kernel.Kernels;
import org.horovod4j.transport.Sink;

/// An array that is being reduced in place, over links.
///
/// @param reduction the arithmetic
/// @param memory where the array lies, on the heap or outside
/// @param offset its first byte
/// @param count its elements
/// @param scratch memory outside the heap through which an array on the heap is combined
public record Operands(
        Reduction reduction,
        MemorySegment memory,
        long offset,
        long count,
        MemorySegment scratch) {
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
    /// @param messageFirst whether the message is the left operand: both ends of a link agree on the
    ///     order
    /// @param last whether these are the last values to come in, so that the result can be averaged and
    ///     scaled while it is in the cache
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
            if (memory.isNative()) {
                combine(memory, at, piece, pieceOffset, bytes);
                return;
            }
            MemorySegment scratch = operands.scratch;
            for (long done = 0; done < bytes; done += scratch.byteSize()) {
                long part = Math.min(scratch.byteSize(), bytes - done);
                MemorySegment.copy(memory, at + done, scratch, 0, part);
                combine(scratch, 0, piece, pieceOffset + done, part);
                MemorySegment.copy(scratch, 0, memory, at + done, part);
            }
        }

        private void combine(
                MemorySegment target, long at, MemorySegment piece, long pieceOffset, long bytes) {
            Reduction reduction = operands.reduction;
            long elements = bytes / reduction.byteSize();
            if (messageFirst) {
                reduction.combine(target, at, piece, pieceOffset, target, at, elements);
            } else {
                reduction.combine(target, at, target, at, piece, pieceOffset, elements);
            }
            if (last) {
                reduction.finish(target, at, elements);
            }
        }
    }
}
