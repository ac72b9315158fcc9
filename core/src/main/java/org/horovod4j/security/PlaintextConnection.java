package org.horovod4j.security;

import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.ByteBuffer;
import java.nio.channels.SocketChannel;

/// A connection without encryption: the channel itself.
record PlaintextConnection(SocketChannel channel) implements SecureConnection {
    @Override
    public int write(ByteBuffer from) throws IOException {
        return channel.write(from);
    }

    @Override
    public int read(ByteBuffer to) throws IOException {
        return channel.read(to);
    }

    @Override
    public InputStream input() throws IOException {
        return channel.socket().getInputStream();
    }

    @Override
    public OutputStream output() throws IOException {
        return channel.socket().getOutputStream();
    }

    @Override
    public void sendCloseNotify() {}

    @Override
    public void close() throws IOException {
        channel.close();
    }
}
