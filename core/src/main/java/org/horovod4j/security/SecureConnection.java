package org.horovod4j.security;

import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.ByteBuffer;
import java.nio.channels.SocketChannel;

/// A connection whose two ends have proved who they are: all that is said after the [Handshake] is
/// said here.
///
/// One thread reads and one writes.
public sealed interface SecureConnection extends AutoCloseable
        permits PlaintextConnection, EncryptedConnection {
    /// A line that passes bytes on as they are.
    static SecureConnection plain(SocketChannel channel) {
        return new PlaintextConnection(channel);
    }

    /// The connection below, for its settings and addresses; its bytes are this line's own.
    SocketChannel channel();

    /// Writes as the channel would, blocking or not. Bytes that were not taken are to be offered
    /// again, before any others.
    ///
    /// @return how many were taken, which are on their way
    int write(ByteBuffer from) throws IOException;

    /// Reads as the channel would, blocking or not.
    ///
    /// @return how many came, or -1 when the other end has said that there are no more
    int read(ByteBuffer to) throws IOException;

    /// The same line to read from while the channel blocks; keeps to the socket's timeout.
    InputStream input() throws IOException;

    /// The same line to write to while the channel blocks.
    OutputStream output() throws IOException;

    /// Says that nothing more comes, where closing alone does not. Waits only if the channel does.
    void sendCloseNotify() throws IOException;

    /// Closes the connection at once. Any thread may.
    @Override
    void close() throws IOException;
}
