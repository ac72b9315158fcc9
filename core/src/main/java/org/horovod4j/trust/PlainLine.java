package org.horovod4j.trust;

import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.ByteBuffer;
import java.nio.channels.SocketChannel;

/// A line without encryption: the channel itself, and nothing in between.
record PlainLine(SocketChannel channel) implements Line {
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
    public void farewell() {}

    @Override
    public void close() throws IOException {
        channel.close();
    }
}
