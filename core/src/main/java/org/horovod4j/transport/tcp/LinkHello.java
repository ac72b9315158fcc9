package org.horovod4j.transport.tcp;

import java.io.IOException;
import java.nio.ByteBuffer;

/// The first message of a connecting rank after the handshake: which link and which stream this is.
///
/// The accepting rank answers with one byte, a [LinkHelloStatus]. The connecting rank then sends
/// [#CONFIRMED], or closes the connection if it has reached the same rank at another address first.
///
/// @param worldId the world of both ranks
/// @param channel the channel of the link
/// @param epoch how often the connecting rank has reset this channel
/// @param from the connecting rank
/// @param to the rank it wants to reach
/// @param attempt numbers the attempts of the connecting rank; streams of different attempts are
///     not mixed
/// @param stream the index of this stream
/// @param streams the number of streams of the link
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
            throw new IllegalArgumentException("invalid stream " + stream + " of " + streams);
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

    /// @throws IOException if the bytes are invalid
    static LinkHello decode(byte[] bytes) throws IOException {
        if (bytes.length != BYTE_SIZE) {
            throw new IOException("invalid link hello: %d bytes".formatted(bytes.length));
        }
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
            throw new IOException("invalid link hello: " + e.getMessage(), e);
        }
    }

    LinkHello withStream(int stream) {
        return new LinkHello(worldId, channel, epoch, from, to, attempt, stream, streams);
    }
}
