package org.horovod4j.rendezvous;

import org.horovod4j.trust.Handshake;
import org.horovod4j.trust.Handshake.Purpose;

import java.io.IOException;
import java.net.Socket;
import java.util.List;

/// A client that proves itself and then says what a test tells it to, and nothing by itself.
final class SilentClient implements AutoCloseable {
    final Socket socket;
    private final Frames frames;

    SilentClient(Ranks ranks) throws IOException {
        socket = new Socket("localhost", ranks.server.address().getPort());
        new Handshake(ranks.secret, Purpose.RENDEZVOUS).dial(socket);
        socket.setSoTimeout(0);
        frames = new Frames(socket, Frames.serverLimit(100));
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
