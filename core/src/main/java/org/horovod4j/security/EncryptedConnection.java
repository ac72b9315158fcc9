package org.horovod4j.security;

import org.jspecify.annotations.Nullable;

import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.ByteBuffer;
import java.nio.channels.SocketChannel;
import java.util.concurrent.locks.ReentrantLock;

/// Sends and receives everything in records of a [RecordCipher].
///
/// A write counts bytes as taken only when their whole record has reached the kernel. Otherwise a
/// partly sent record would wait for the next write, and the peer for the record. While the kernel
/// sends a record, the next is encrypted.
///
/// After the first write no more buffers are allocated. `javax.crypto` allocates some small objects
/// for each record.
final class EncryptedConnection implements SecureConnection {
    /// How many records one read may return.
    private static final int READ_AHEAD = 2;

    private final SocketChannel channel;
    private final int recordSize;

    private final RecordCipher encryptor;
    private final byte[] plaintext;
    private final ByteBuffer encrypted;
    private final ReentrantLock writeLock = new ReentrantLock();

    /// How many of the next bytes are already in the record that is being sent.
    private int inFlight;

    private final RecordCipher decryptor;
    private final ByteBuffer received;
    private final ByteBuffer decrypted;
    private long records;
    private boolean ended;
    private @Nullable IOException failure;

    /// @param recordSize the most bytes of plaintext in a record, the same at both ends
    EncryptedConnection(
            SocketChannel channel, RecordCipher encryptor, RecordCipher decryptor, int recordSize) {
        this.channel = channel;
        this.recordSize = recordSize;
        this.encryptor = encryptor;
        this.plaintext = new byte[recordSize];
        this.encrypted = ByteBuffer.allocate(recordSize + RecordCipher.OVERHEAD).limit(0);
        this.decryptor = decryptor;
        this.received =
                ByteBuffer.allocate(READ_AHEAD * (recordSize + RecordCipher.OVERHEAD)).limit(0);
        this.decrypted = ByteBuffer.allocate(recordSize).limit(0);
    }

    @Override
    public SocketChannel channel() {
        return channel;
    }

    @Override
    public int write(ByteBuffer from) throws IOException {
        writeLock.lock();
        try {
            int start = from.position();
            while (send() && advance(from)) {
                inFlight = Math.min(from.remaining(), recordSize);
                from.get(from.position(), plaintext, 0, inFlight);
                encrypt(inFlight);
            }
            return from.position() - start;
        } finally {
            writeLock.unlock();
        }
    }

    /// Advances past the record that was sent.
    ///
    /// @return whether there is more to send
    private boolean advance(ByteBuffer from) {
        if (inFlight > from.remaining()) {
            throw new IllegalStateException(
                    "%d bytes are being sent, but the retry has only %d"
                            .formatted(inFlight, from.remaining()));
        }
        from.position(from.position() + inFlight);
        inFlight = 0;
        return from.hasRemaining();
    }

    private void encrypt(int length) {
        int size = encryptor.encrypt(plaintext, length, encrypted.array());
        encrypted.limit(size).position(0);
    }

    /// @return whether the whole record was sent, as always with a blocking channel
    private boolean send() throws IOException {
        while (encrypted.hasRemaining()) {
            if (channel.write(encrypted) == 0) {
                return false;
            }
        }
        return true;
    }

    /// {@inheritDoc} Does nothing in the middle of a record or while another thread writes. The
    /// peer then sees a connection that was cut off, which is true by then.
    @Override
    public void sendCloseNotify() throws IOException {
        if (writeLock.tryLock()) {
            try {
                if (send()) {
                    encrypt(0);
                    send();
                }
            } finally {
                writeLock.unlock();
            }
        }
    }

    /// {@inheritDoc} After the first bytes it returns what has arrived already, and does not wait
    /// for more.
    @Override
    public int read(ByteBuffer to) throws IOException {
        if (failure != null) {
            throw failure; // nothing after it can be trusted
        }
        try {
            int start = to.position();
            copyDecrypted(to);
            while (to.hasRemaining() && !ended && decryptNext(to.position() == start)) {
                copyDecrypted(to);
            }
            int count = to.position() - start;
            return count == 0 && ended ? -1 : count;
        } catch (RecordAuthenticationException | EOFException e) {
            failure = e;
            throw e;
        }
    }

    private void copyDecrypted(ByteBuffer to) {
        int count = Math.min(decrypted.remaining(), to.remaining());
        to.put(to.position(), decrypted, decrypted.position(), count);
        to.position(to.position() + count);
        decrypted.position(decrypted.position() + count);
    }

    /// Decrypts the next record, if it has arrived or arrives.
    private boolean decryptNext(boolean mayReceive) throws IOException {
        while (!hasFullRecord()) {
            if (!mayReceive || !receive()) {
                return false;
            }
        }
        int length = received.getInt(received.position());
        decryptor.decrypt(received.array(), received.position(), length, decrypted.array());
        received.position(received.position() + RecordCipher.OVERHEAD + length);
        decrypted.limit(length).position(0);
        ended = length == 0;
        records++;
        return true;
    }

    private boolean hasFullRecord() throws RecordAuthenticationException {
        if (received.remaining() < RecordCipher.HEADER) {
            return false;
        }
        int length = received.getInt(received.position());
        if (length < 0 || length > recordSize) {
            throw new RecordAuthenticationException(
                    records, null); // Horovod4J writes no such header
        }
        return received.remaining() >= RecordCipher.OVERHEAD + length;
    }

    /// @return whether anything was received, as always with a blocking channel
    private boolean receive() throws IOException {
        received.compact();
        int count;
        try {
            count = channel.isBlocking() ? receiveBlocking() : channel.read(received);
        } finally {
            received.flip();
        }
        if (count < 0) {
            throw new EOFException(
                    "the encrypted connection was cut off: it closed without the closing record of the"
                            + " peer");
        }
        return count > 0;
    }

    /// Only the socket's own stream observes the socket's timeout.
    private int receiveBlocking() throws IOException {
        InputStream in = channel.socket().getInputStream();
        int count = in.read(received.array(), received.position(), received.remaining());
        received.position(received.position() + Math.max(0, count));
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
                return EncryptedConnection.this.read(ByteBuffer.wrap(bytes, offset, length));
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
                int _ = EncryptedConnection.this.write(ByteBuffer.wrap(bytes, offset, length));
            }
        };
    }

    @Override
    public void close() throws IOException {
        channel.close();
    }
}
