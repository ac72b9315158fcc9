package org.horovod4j.transport;

import org.jspecify.annotations.Nullable;

import java.lang.foreign.MemorySegment;

/// The target of an incoming message, which arrives piece by piece.
public interface MessageSink {
    /// The length of the whole payload.
    long length();

    /// The length of every piece except the last is a multiple of this.
    default int granularity() {
        return 1;
    }

    /// Takes `count` bytes of `piece` from `offset` on. They are the bytes of the payload from
    /// `position` on.
    void accept(MemorySegment piece, long offset, long position, long count);

    /// Memory into which the payload can be received directly, without [#accept]; null if there is
    /// none.
    default @Nullable MemorySegment direct() {
        return null;
    }

    /// The offset of the payload in [#direct].
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
