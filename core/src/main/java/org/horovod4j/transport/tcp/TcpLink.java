package org.horovod4j.transport.tcp;

import org.horovod4j.log.Log;
import org.horovod4j.security.SecureConnection;
import org.horovod4j.transport.Link;
import org.horovod4j.transport.LinkBrokenException;

import java.io.IOException;
import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.lang.foreign.MemorySegment;
import java.nio.channels.SelectableChannel;
import java.util.List;

/// A link over one or more TCP connections.
///
/// With several streams the bytes are striped: stripe `i` of [#STRIPE] bytes is sent on stream
/// `i mod K`. Both ends count the bytes, so no headers are needed. Although the streams are filled
/// in turn, all are busy at once, because kernel buffers hold many stripes.
final class TcpLink implements Link {
    static final int STRIPE = 64 << 10;

    private static final Logger LOGGER = Log.of(TcpLink.class);

    /// The most bytes that one call transfers, so that sending and receiving alternate.
    private static final int MAX_BYTES_PER_CALL = 1 << 20;

    private final int peer;
    private final SecureConnection[] streams;
    private long sent;
    private long received;

    /// Takes ownership of `streams`, which are in order and non-blocking.
    TcpLink(int peer, List<SecureConnection> streams) {
        this.peer = peer;
        this.streams = streams.toArray(SecureConnection[]::new);
    }

    @Override
    public int peer() {
        return peer;
    }

    /// The number of connections.
    int streams() {
        return streams.length;
    }

    @Override
    public long trySend(MemorySegment segment, long offset, long length) {
        long limit = Math.min(length, MAX_BYTES_PER_CALL);
        long done = 0;
        while (done < limit) {
            int pieceLength = bytesLeftInStripe(sent, limit - done);
            int moved = send(segment, offset + done, pieceLength);
            sent += moved;
            done += moved;
            if (moved < pieceLength) {
                break; // this stream is full, and bytes must stay in order
            }
        }
        return done;
    }

    @Override
    public long tryReceive(MemorySegment segment, long offset, long length) {
        long limit = Math.min(length, MAX_BYTES_PER_CALL);
        long done = 0;
        while (done < limit) {
            int pieceLength = bytesLeftInStripe(received, limit - done);
            int moved = receive(segment, offset + done, pieceLength, done > 0);
            received += moved;
            done += moved;
            if (moved < pieceLength) {
                break;
            }
        }
        return done;
    }

    @Override
    public SelectableChannel receiveChannel() {
        return stream(received).channel();
    }

    @Override
    public SelectableChannel sendChannel() {
        return stream(sent).channel();
    }

    @Override
    public void close() {
        for (SecureConnection stream : streams) {
            sendClose(stream);
            closeQuietly(stream);
        }
    }

    /// Announces the close. A failure is ignored: the peer is gone or has closed first.
    private static void sendClose(SecureConnection stream) {
        try {
            stream.sendCloseNotify();
        } catch (IOException e) {
            LOGGER.log(Level.DEBUG, "Cannot send close-notify on " + stream.channel(), e);
        }
    }

    static void closeQuietly(SecureConnection stream) {
        try {
            stream.close();
        } catch (IOException e) {
            LOGGER.log(Level.DEBUG, "Closing " + stream.channel() + " failed", e);
        }
    }

    private int bytesLeftInStripe(long position, long length) {
        long room = streams.length == 1 ? length : STRIPE - position % STRIPE;
        return (int) Math.min(room, length);
    }

    private SecureConnection stream(long position) {
        return streams.length == 1
                ? streams[0]
                : streams[(int) (position / STRIPE % streams.length)];
    }

    private int send(MemorySegment segment, long offset, int length) {
        try {
            return stream(sent).write(segment.asSlice(offset, length).asByteBuffer());
        } catch (IOException e) {
            throw broken("sending to", e);
        }
    }

    private int receive(MemorySegment segment, long offset, int length, boolean hasData) {
        int count;
        try {
            count = stream(received).read(segment.asSlice(offset, length).asByteBuffer());
        } catch (IOException e) {
            if (hasData) {
                return 0; // return what was received; the next call fails again
            }
            throw broken("receiving from", e);
        }
        if (count < 0) {
            if (hasData) {
                return 0;
            }
            throw new LinkBrokenException(
                    peer, "receiving from rank " + peer + ": it has closed the link", null);
        }
        return count;
    }

    private LinkBrokenException broken(String doing, IOException e) {
        return new LinkBrokenException(
                peer, doing + " rank " + peer + " over TCP failed: " + e.getMessage(), e);
    }
}
