package org.horovod4j.transport.tcp;

import java.io.IOException;
import java.nio.ByteBuffer;

/// What a caller says after the handshake: which link it wants, and which stream of it this is.
///
/// The answer is one byte, a [LinkHelloStatus]. A caller content with it sends [#CONFIRMED]; one that has
/// reached the same rank by another address meanwhile just closes.
///
/// @param worldId the meeting that both belong to
/// @param channel which of the links between the two
/// @param epoch how often the caller has reset the links of this channel
/// @param from the caller's rank
/// @param to the rank it means to reach
/// @param attempt the caller's number for this attempt: streams of different attempts do not mix
/// @param stream which of the link's streams
/// @param streams how many the link has
record LinkHello(
        long worldId,
        int channel,
        long epoch,
        int from,
        int to,
        long attempt,
        int stream,
        int streams) {
    static final int BYTE_SIZE = 3 * Long.BYTES + 5 * Integer.BYTES;
    static final byte CONFIRMED = 1;

    LinkHello {
        if (streams < 1 || streams > TcpTuning.MAX_STREAMS || stream < 0 || stream >= streams) {
            throw new IllegalArgumentException("stream " + stream + " of " + streams);
        }
    }

    byte[] encode() {
        return ByteBuffer.allocate(BYTE_SIZE)
                .putLong(worldId)
                .putInt(channel)
                .putLong(epoch)
                .putInt(from)
                .putInt(to)
                .putLong(attempt)
                .putInt(stream)
                .putInt(streams)
                .array();
    }

    /// @throws IOException when the bytes make no sense
    static LinkHello decode(byte[] bytes) throws IOException {
        ByteBuffer in = ByteBuffer.wrap(bytes);
        try {
            return new LinkHello(
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

    LinkHello withStream(int other) {
        return new LinkHello(worldId, channel, epoch, from, to, attempt, other, streams);
    }
}
