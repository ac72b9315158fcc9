package org.horovod4j.rendezvous;

import org.horovod4j.trust.Handshake;
import org.horovod4j.trust.Handshake.Purpose;
import org.horovod4j.trust.Line;

import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.nio.channels.SocketChannel;
import java.util.List;

/// A client that proves itself and then says what a test tells it to, and nothing by itself.
final class SilentClient implements AutoCloseable {
    final Socket socket;
    final Line line;
    private final Frames frames;

    SilentClient(Ranks ranks) throws IOException {
        int port = ranks.server.address().getPort();
        socket = SocketChannel.open(new InetSocketAddress("localhost", port)).socket();
        line = new Handshake(ranks.secret, Purpose.RENDEZVOUS).dial(socket.getChannel());
        socket.setSoTimeout(0);
        frames = new Frames(line, Frames.serverLimit(100));
    }

    SilentClient say(Message message) throws IOException {
        return say(List.of(message));
    }

    SilentClient say(List<? extends Message> messages) throws IOException {
        for (Message message : messages) {
            frames.write(message);
        }
        frames.flush();
        return this;
    }

    /// The next message that is no heartbeat.
    Message hear() throws IOException {
        Message message = frames.read();
        while (message instanceof Message.Heartbeat) {
            message = frames.read();
        }
        return message;
    }

    @Override
    public void close() throws IOException {
        socket.close();
    }
}
