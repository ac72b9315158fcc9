package org.horovod4j.transport.tcp;

import org.horovod4j.transport.Link;
import org.horovod4j.transport.LinkBrokenException;
import org.jspecify.annotations.Nullable;

import java.io.IOException;
import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.nio.channels.SocketChannel;
import java.util.List;

/// A link over one or more TCP connections.
///
/// With several streams the bytes are striped: they are cut into stripes of [#STRIPE] bytes and
/// stripe i travels on stream i mod K. Both ends count the bytes, so both know where each belongs
/// and nothing but data is sent. The kernel's buffers hold many stripes, so all streams are busy at
/// once although they are filled in turn.
///
/// Memory outside the heap goes to the kernel as it is. Bytes on the heap are copied through a
/// buffer of this link, made when first needed: the JDK would copy them too, through one of its own
/// of the size of the whole tensor.
final class TcpLink implements Link {
    static final int STRIPE = 64 << 10;

    private static final Logger LOGGER = System.getLogger(TcpLink.class.getName());

    /// The most that one call moves, so that sending and receiving alternate.
    private static final int MAX_TURN = 1 << 20;

    private static final int SCRATCH_SIZE = 256 << 10;
    private static final int MIN_COPY = 8 << 10;

    private final int peer;
    private final SocketChannel[] streams;
    private long sent;
    private long received;
    private @Nullable Scratch scratch;

    /// Takes over `streams`, in order, which must not block.
    TcpLink(int peer, List<SocketChannel> streams) {
        this.peer = peer;
        this.streams = streams.toArray(SocketChannel[]::new);
    }

    @Override
    public int peer() {
        return peer;
    }

    @Override
    public long trySend(MemorySegment segment, long offset, long length) {
        long turn = Math.min(length, MAX_TURN);
        long done = 0;
        while (done < turn) {
            int want = untilStripeEnds(sent, turn - done);
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
        long turn = Math.min(length, MAX_TURN);
        long done = 0;
        while (done < turn) {
            int want = untilStripeEnds(received, turn - done);
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
        for (SocketChannel stream : streams) {
            closeQuietly(stream);
        }
    }

    static void closeQuietly(SocketChannel channel) {
        try {
            channel.close();
        } catch (IOException e) {
            LOGGER.log(Level.DEBUG, "Closing " + channel + " failed", e);
        }
    }

    private int untilStripeEnds(long position, long length) {
        long room = streams.length == 1 ? length : STRIPE - position % STRIPE;
        return (int) Math.min(room, length);
    }

    private SocketChannel stream(long position) {
        return streams.length == 1
                ? streams[0]
                : streams[(int) (position / STRIPE % streams.length)];
    }

    private int send(MemorySegment segment, long offset, int length) {
        try {
            return segment.isNative()
                    ? stream(sent).write(segment.asSlice(offset, length).asByteBuffer())
                    : scratch().send(stream(sent), segment, offset, length);
        } catch (IOException e) {
            throw broken("sending to", e);
        }
    }

    private int receive(MemorySegment segment, long offset, int length, boolean some) {
        int got;
        try {
            got =
                    segment.isNative()
                            ? stream(received).read(segment.asSlice(offset, length).asByteBuffer())
                            : scratch().receive(stream(received), segment, offset, length);
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

    private Scratch scratch() {
        Scratch present = scratch;
        if (present == null) {
            present = new Scratch();
            scratch = present;
        }
        return present;
    }

    /// The way of heap memory to and from a stream.
    private static final class Scratch {
        /// Left to the collector, since a link may be closed under a thread that is copying.
        private final MemorySegment memory = Arena.ofAuto().allocate(SCRATCH_SIZE, Long.BYTES);

        private final ByteBuffer buffer = memory.asByteBuffer();

        /// How much to copy for the next send. What the kernel does not take was copied in vain,
        /// and while it takes nothing we are asked again and again: so little then, more as it
        /// takes all.
        private int copy = SCRATCH_SIZE;

        int send(SocketChannel stream, MemorySegment segment, long offset, int length)
                throws IOException {
            int done = 0;
            while (done < length) {
                int want = Math.min(length - done, copy);
                MemorySegment.copy(segment, offset + done, memory, 0, want);
                int moved = stream.write(buffer.clear().limit(want));
                done += moved;
                if (moved < want) {
                    copy = Math.max(moved, MIN_COPY);
                    break;
                }
                copy = Math.min(2 * copy, SCRATCH_SIZE);
            }
            return done;
        }

        int receive(SocketChannel stream, MemorySegment segment, long offset, int length)
                throws IOException {
            int want = Math.min(length, SCRATCH_SIZE);
            int moved = stream.read(buffer.clear().limit(want));
            if (moved > 0) {
                MemorySegment.copy(memory, 0, segment, offset, moved);
            }
            return moved;
        }
    }
}
