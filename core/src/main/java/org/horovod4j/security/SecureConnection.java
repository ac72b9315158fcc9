package org.horovod4j.security;

import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.ByteBuffer;
import java.nio.channels.SocketChannel;

/// An authenticated connection: what the [Handshake] returns.
///
/// One thread may read while another writes.
public sealed interface SecureConnection extends AutoCloseable
        permits PlaintextConnection, EncryptedConnection {
    /// A connection without encryption.
    static SecureConnection plain(SocketChannel channel) {
        return new PlaintextConnection(channel);
    }

    /// The underlying socket, for its settings and addresses. Do not read or write it directly.
    SocketChannel channel();

    /// Writes like the channel, blocking or not. Bytes that were not taken must be offered again,
    /// before any others.
    ///
    /// @return how many were taken
    int write(ByteBuffer from) throws IOException;

    /// Reads like the channel, blocking or not.
    ///
    /// @return how many were read, or -1 at the end of the stream
    int read(ByteBuffer to) throws IOException;

    /// The same connection as a stream, for a blocking channel. Observes the socket's timeout.
    InputStream input() throws IOException;

    /// The same connection as a stream, for a blocking channel.
    OutputStream output() throws IOException;

    /// Tells the peer that nothing more follows, where closing the socket alone would not. Blocks
    /// only if the channel does.
    void sendCloseNotify() throws IOException;

    /// Closes the connection at once. Any thread may call this.
    @Override
    void close() throws IOException;
}
