package org.horovod4j.transport.tcp;

import java.io.IOException;
import java.nio.ByteBuffer;

/// What a caller says after the handshake: which link it wants, and which stream of it this is.
///
/// The answer is one byte, a [Verdict]. A caller content with it sends [#TAKEN]; one that has
/// reached the same rank by another address meanwhile just closes.
///
/// @param world the meeting that both belong to
/// @param channel which of the links between the two
/// @param epoch how often the caller has reset the links of this channel
/// @param from the caller's rank
/// @param to the rank it means to reach
/// @param call the caller's number for this attempt: streams of different attempts do not mix
/// @param stream which of the link's streams
/// @param streams how many the link has
record Hello(
        long world, int channel, long epoch, int from, int to, long call, int stream, int streams) {
    static final int BYTE_SIZE = 3 * Long.BYTES + 5 * Integer.BYTES;
    static final byte TAKEN = 1;

    Hello {
        if (streams < 1 || streams > TcpTuning.MAX_STREAMS || stream < 0 || stream >= streams) {
            throw new IllegalArgumentException("stream " + stream + " of " + streams);
        }
    }

    byte[] encode() {
        return ByteBuffer.allocate(BYTE_SIZE)
                .putLong(world)
                .putInt(channel)
                .putLong(epoch)
                .putInt(from)
                .putInt(to)
                .putLong(call)
                .putInt(stream)
                .putInt(streams)
                .array();
    }

    /// @throws IOException when the bytes make no sense
    static Hello decode(byte[] bytes) throws IOException {
        ByteBuffer in = ByteBuffer.wrap(bytes);
        try {
            return new Hello(
                    in.getLong(),
                    in.getInt(),
                    in.getLong(),
                    in.getInt(),
                    in.getInt(),
                    in.getLong(),
                    in.getInt(),
                    in.getInt());
        } catch (IllegalArgumentException e) {
            throw new IOException("a hello that makes no sense: " + e.getMessage(), e);
        }
    }

    Hello withStream(int other) {
        return new Hello(world, channel, epoch, from, to, call, other, streams);
    }
}
