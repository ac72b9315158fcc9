package org.horovod4j.transport.tcp;

import org.horovod4j.log.Log;
import org.horovod4j.security.SecureConnection;
import org.horovod4j.transport.Link;
import org.horovod4j.transport.LinkBrokenException;

import java.io.IOException;
import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.lang.foreign.MemorySegment;
import java.util.List;

/// A link over one or more TCP connections.
///
/// With several streams the bytes are striped: they are cut into stripes of [#STRIPE] bytes and
/// stripe i travels on stream i mod K. Both ends count the bytes, so both know where each belongs
/// and nothing but data is sent. The kernel's buffers hold many stripes, so all streams are busy at
/// once although they are filled in turn.
final class TcpLink implements Link {
    static final int STRIPE = 64 << 10;

    private static final Logger LOGGER = Log.of(TcpLink.class);

    /// The most that one call moves, so that sending and receiving alternate.
    private static final int MAX_BYTES_PER_CALL = 1 << 20;

    private final int peer;
    private final SecureConnection[] streams;
    private long sent;
    private long received;

    /// Takes over `streams`, in order, which must not block.
    TcpLink(int peer, List<SecureConnection> streams) {
        this.peer = peer;
        this.streams = streams.toArray(SecureConnection[]::new);
    }

    @Override
    public int peer() {
        return peer;
    }

    /// How many connections it has.
    int streams() {
        return streams.length;
    }

    @Override
    public long trySend(MemorySegment segment, long offset, long length) {
        long turn = Math.min(length, MAX_BYTES_PER_CALL);
        long done = 0;
        while (done < turn) {
            int want = bytesLeftInStripe(sent, turn - done);
            int moved = send(segment, offset + done, want);
            sent += moved;
            done += moved;
            if (moved < want) {
                break; // this stream is full, and what follows must not overtake
            }
        }
        return done;
    }

    @Override
    public long tryReceive(MemorySegment segment, long offset, long length) {
        long turn = Math.min(length, MAX_BYTES_PER_CALL);
        long done = 0;
        while (done < turn) {
            int want = bytesLeftInStripe(received, turn - done);
            int moved = receive(segment, offset + done, want, done > 0);
            received += moved;
            done += moved;
            if (moved < want) {
                break;
            }
        }
        return done;
    }

    @Override
    public void close() {
        for (SecureConnection stream : streams) {
            sendClose(stream);
            closeQuietly(stream);
        }
    }

    /// To a peer that is gone, or has closed its end first, nothing needs to be said.
    private static void sendClose(SecureConnection stream) {
        try {
            stream.sendCloseNotify();
        } catch (IOException e) {
            LOGGER.log(Level.DEBUG, "Nobody hears that " + stream.channel() + " closes", e);
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

    private int receive(MemorySegment segment, long offset, int length, boolean some) {
        int got;
        try {
            got = stream(received).read(segment.asSlice(offset, length).asByteBuffer());
        } catch (IOException e) {
            if (some) {
                return 0; // first hand over what came; the failure shows again
            }
            throw broken("receiving from", e);
        }
        if (got < 0) {
            if (some) {
                return 0;
            }
            throw new LinkBrokenException(
                    peer, "receiving from rank " + peer + ": it has closed the link", null);
        }
        return got;
    }

    private LinkBrokenException broken(String doing, IOException e) {
        return new LinkBrokenException(
                peer, doing + " rank " + peer + " over TCP failed: " + e.getMessage(), e);
    }
}
