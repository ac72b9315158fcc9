package org.horovod4j.transport;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.foreign.MemorySegment;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.SelectableChannel;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;

/// A link over one connection that does not block.
record ChannelLink(SocketChannel channel) implements Link {
    /// Both ends of a connection on this machine.
    record Pair(ChannelLink first, ChannelLink second) implements AutoCloseable {
        /// Sends so many bytes from the second to the first end.
        void send(int count) throws IOException {
            ByteBuffer bytes = ByteBuffer.allocate(count);
            while (bytes.hasRemaining()) {
                int _ = second.channel.write(bytes);
            }
        }

        /// Sends from the second to the first end until there is no more room.
        long fill() throws IOException {
            long sent = 0;
            for (long count = 1; count > 0; sent += count) {
                count = second.channel.write(ByteBuffer.allocate(1 << 16));
            }
            return sent;
        }

        @Override
        public void close() {
            first.close();
            second.close();
        }
    }

    static Pair pair() throws IOException {
        try (ServerSocketChannel server = ServerSocketChannel.open()) {
            server.bind(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0));
            SocketChannel first = SocketChannel.open(server.getLocalAddress());
            SocketChannel second = server.accept();
            first.configureBlocking(false);
            second.configureBlocking(false);
            return new Pair(new ChannelLink(first), new ChannelLink(second));
        }
    }

    @Override
    public int peer() {
        return 0;
    }

    @Override
    public long trySend(MemorySegment segment, long offset, long length) {
        try {
            return channel.write(segment.asSlice(offset, length).asByteBuffer());
        } catch (IOException e) {
            throw new LinkBrokenException(0, "sending failed", e);
        }
    }

    @Override
    public long tryReceive(MemorySegment segment, long offset, long length) {
        try {
            return channel.read(segment.asSlice(offset, length).asByteBuffer());
        } catch (IOException e) {
            throw new LinkBrokenException(0, "receiving failed", e);
        }
    }

    @Override
    public SelectableChannel receiveChannel() {
        return channel;
    }

    @Override
    public SelectableChannel sendChannel() {
        return channel;
    }

    @Override
    public void close() {
        try {
            channel.close();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
