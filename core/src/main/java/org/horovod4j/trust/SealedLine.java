package org.horovod4j.trust;

import org.jspecify.annotations.Nullable;

import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.ByteBuffer;
import java.nio.channels.SocketChannel;
import java.util.concurrent.locks.ReentrantLock;

/// A line on which everything travels in the records of a [Sealer].
///
/// Bytes count as taken when their whole record has reached the kernel: a record of which a part
/// stayed here would otherwise wait for the next one, and the other end for it. While the kernel
/// sends a record the next is being encrypted; more threads than that were not tried.
///
/// No buffer is made after the first; what `javax.crypto` makes for a record are some small
/// objects.
final class SealedLine implements Line {
    /// How many records one read may bring.
    private static final int READ_AHEAD = 2;

    private final SocketChannel channel;
    private final int recordSize;

    private final Sealer sealing;
    private final byte[] outgoing;
    private final ByteBuffer sealed;
    private final ReentrantLock writing = new ReentrantLock();

    /// How many of the bytes offered next are in the record that is being sent.
    private int underWay;

    private final Sealer opening;
    private final ByteBuffer arrived;
    private final ByteBuffer opened;
    private long records;
    private boolean ended;
    private @Nullable IOException failure;

    /// @param recordSize the most bytes of text in a record, the same at both ends
    SealedLine(SocketChannel channel, Sealer sealing, Sealer opening, int recordSize) {
        this.channel = channel;
        this.recordSize = recordSize;
        this.sealing = sealing;
        this.outgoing = new byte[recordSize];
        this.sealed = ByteBuffer.allocate(recordSize + Sealer.OVERHEAD).limit(0);
        this.opening = opening;
        this.arrived = ByteBuffer.allocate(READ_AHEAD * (recordSize + Sealer.OVERHEAD)).limit(0);
        this.opened = ByteBuffer.allocate(recordSize).limit(0);
    }

    @Override
    public SocketChannel channel() {
        return channel;
    }

    @Override
    public int write(ByteBuffer from) throws IOException {
        writing.lock();
        try {
            int start = from.position();
            while (send() && take(from)) {
                underWay = Math.min(from.remaining(), recordSize);
                from.get(from.position(), outgoing, 0, underWay);
                seal(underWay);
            }
            return from.position() - start;
        } finally {
            writing.unlock();
        }
    }

    /// Counts the record that was sent.
    ///
    /// @return whether there is more to send
    private boolean take(ByteBuffer from) {
        if (underWay > from.remaining()) {
            throw new IllegalStateException(
                    "%d bytes are under way, but only %d are offered again"
                            .formatted(underWay, from.remaining()));
        }
        from.position(from.position() + underWay);
        underWay = 0;
        return from.hasRemaining();
    }

    private void seal(int length) {
        int size = sealing.seal(outgoing, length, sealed.array());
        sealed.limit(size).position(0);
    }

    /// @return whether all of the record has gone, as it always has where the channel blocks
    private boolean send() throws IOException {
        while (sealed.hasRemaining()) {
            if (channel.write(sealed) == 0) {
                return false;
            }
        }
        return true;
    }

    /// {@inheritDoc} Not in the middle of a record or of another thread's writing: then the other
    /// end takes the line for cut off, which by then it is.
    @Override
    public void farewell() throws IOException {
        if (writing.tryLock()) {
            try {
                if (send()) {
                    seal(0);
                    send();
                }
            } finally {
                writing.unlock();
            }
        }
    }

    /// {@inheritDoc} Once it has brought anything it goes on with what is here already, and does
    /// not wait for more.
    @Override
    public int read(ByteBuffer to) throws IOException {
        if (failure != null) {
            throw failure; // what came after it means nothing
        }
        try {
            int start = to.position();
            handOver(to);
            while (to.hasRemaining() && !ended && next(to.position() == start)) {
                handOver(to);
            }
            int count = to.position() - start;
            return count == 0 && ended ? -1 : count;
        } catch (BrokenSealException | EOFException e) {
            failure = e;
            throw e;
        }
    }

    private void handOver(ByteBuffer to) {
        int count = Math.min(opened.remaining(), to.remaining());
        to.put(to.position(), opened, opened.position(), count);
        to.position(to.position() + count);
        opened.position(opened.position() + count);
    }

    /// Opens the next record, if it is there or comes.
    private boolean next(boolean mayReceive) throws IOException {
        while (!isWhole()) {
            if (!mayReceive || !receive()) {
                return false;
            }
        }
        int length = arrived.getInt(arrived.position());
        opening.open(arrived.array(), arrived.position(), length, opened.array());
        arrived.position(arrived.position() + Sealer.OVERHEAD + length);
        opened.limit(length).position(0);
        ended = length == 0;
        records++;
        return true;
    }

    private boolean isWhole() throws BrokenSealException {
        if (arrived.remaining() < Sealer.HEADER) {
            return false;
        }
        int length = arrived.getInt(arrived.position());
        if (length < 0 || length > recordSize) {
            throw new BrokenSealException(records, null); // no end of ours writes such a header
        }
        return arrived.remaining() >= Sealer.OVERHEAD + length;
    }

    /// @return whether anything came, as it always has where the channel blocks
    private boolean receive() throws IOException {
        arrived.compact();
        int count;
        try {
            count = channel.isBlocking() ? receiveInTime() : channel.read(arrived);
        } finally {
            arrived.flip();
        }
        if (count < 0) {
            throw new EOFException(
                    "the encrypted connection was cut off: it closed without the other end saying"
                            + " that it would");
        }
        return count > 0;
    }

    /// Only the socket's own stream keeps to the socket's timeout.
    private int receiveInTime() throws IOException {
        InputStream in = channel.socket().getInputStream();
        int count = in.read(arrived.array(), arrived.position(), arrived.remaining());
        arrived.position(arrived.position() + Math.max(0, count));
        return count;
    }

    @Override
    public InputStream input() {
        return new InputStream() {
            @Override
            public int read() throws IOException {
                byte[] one = new byte[1];
                return read(one, 0, 1) < 0 ? -1 : Byte.toUnsignedInt(one[0]);
            }

            @Override
            public int read(byte[] bytes, int offset, int length) throws IOException {
                return SealedLine.this.read(ByteBuffer.wrap(bytes, offset, length));
            }
        };
    }

    @Override
    public OutputStream output() {
        return new OutputStream() {
            @Override
            public void write(int one) throws IOException {
                write(new byte[] {(byte) one}, 0, 1);
            }

            @Override
            public void write(byte[] bytes, int offset, int length) throws IOException {
                int _ = SealedLine.this.write(ByteBuffer.wrap(bytes, offset, length));
            }
        };
    }

    @Override
    public void close() throws IOException {
        channel.close();
    }
}
