package org.horovod4j.transport;

import org.jspecify.annotations.Nullable;

import java.lang.foreign.MemorySegment;

/// Where an incoming message goes, piece by piece.
public interface MessageSink {
    /// The payload's whole length.
    long length();

    /// How much of the payload may be taken now; a sink that must wait for something else to happen
    /// first answers less than [#length].
    default long limit() {
        return length();
    }

    /// Pieces but the last are multiples of this.
    default int granularity() {
        return 1;
    }

    /// Takes `count` bytes of `piece` from `offset`, which are the payload's from `position`.
    void accept(MemorySegment piece, long offset, long position, long count);

    /// Memory into which the payload can be written straight away, instead of being taken in
    /// pieces.
    default @Nullable MemorySegment direct() {
        return null;
    }

    /// Where in [#direct] the payload begins.
    default long directOffset() {
        return 0;
    }

    /// Writes the payload to `target` at `offset`.
    static MessageSink into(MemorySegment target, long offset, long length) {
        return new MessageSink() {
            @Override
            public long length() {
                return length;
            }

            @Override
            public void accept(MemorySegment piece, long pieceOffset, long position, long count) {
                MemorySegment.copy(piece, pieceOffset, target, offset + position, count);
            }

            @Override
            public @Nullable MemorySegment direct() {
                return target.isNative() ? target : null;
            }

            @Override
            public long directOffset() {
                return offset;
            }
        };
    }
}
