package org.horovod4j.security;

import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.net.Socket;
import java.net.SocketTimeoutException;
import java.time.Duration;
import java.util.concurrent.TimeUnit;

/// Reads of known size from a new connection, all under one deadline.
///
/// The timeout of a socket starts again with each byte, so a stranger could hold a connection for
/// hours by sending slowly. Here all bytes must arrive before the deadline. Afterwards the caller
/// must set its own socket timeout: this class leaves its last one.
public final class DeadlineReader {
    private final Socket socket;
    private final InputStream in;
    private final Duration limit;
    private final long deadlineNanos;

    public DeadlineReader(SecureConnection secureConnection, Duration limit) throws IOException {
        this(secureConnection.channel().socket(), secureConnection.input(), limit);
    }

    /// For a connection that is not authenticated yet.
    DeadlineReader(Socket socket, Duration limit) throws IOException {
        this(socket, socket.getInputStream(), limit);
    }

    private DeadlineReader(Socket socket, InputStream in, Duration limit) {
        this.socket = socket;
        this.in = in;
        this.limit = limit;
        this.deadlineNanos = System.nanoTime() + limit.toNanos();
    }

    /// Reads exactly `count` bytes.
    ///
    /// @throws EOFException when the peer closes before
    /// @throws SocketTimeoutException when they do not arrive in time
    public byte[] read(int count) throws IOException {
        byte[] bytes = new byte[count];
        int got = 0;
        while (got < count) {
            socket.setSoTimeout(remainingMillis());
            int more = in.read(bytes, got, count - got);
            if (more < 0) {
                throw new EOFException("closed after " + got + " of " + count + " bytes");
            }
            got += more;
        }
        return bytes;
    }

    private int remainingMillis() throws SocketTimeoutException {
        long left = TimeUnit.NANOSECONDS.toMillis(deadlineNanos - System.nanoTime());
        if (left <= 0) {
            throw new SocketTimeoutException("not within " + limit.toMillis() + " ms");
        }
        return (int) Math.min(left, Integer.MAX_VALUE);
    }
}
