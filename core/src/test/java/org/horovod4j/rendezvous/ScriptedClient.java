package org.horovod4j.rendezvous;

import org.horovod4j.security.Handshake;
import org.horovod4j.security.Handshake.Purpose;
import org.horovod4j.security.SecureConnection;

import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.nio.channels.SocketChannel;
import java.util.List;

/// A client that proves itself and then says what a test tells it to, and nothing by itself.
final class ScriptedClient implements AutoCloseable {
    final Socket socket;
    final SecureConnection secureConnection;
    private final RendezvousFrames rendezvousFrames;

    ScriptedClient(RendezvousTestRanks rendezvousTestRanks) throws IOException {
        int port = rendezvousTestRanks.server.address().getPort();
        socket = SocketChannel.open(new InetSocketAddress("localhost", port)).socket();
        secureConnection =
                new Handshake(rendezvousTestRanks.secret, Purpose.RENDEZVOUS)
                        .initiate(socket.getChannel());
        socket.setSoTimeout(0);
        rendezvousFrames =
                new RendezvousFrames(secureConnection, RendezvousFrames.serverLimit(100));
    }

    ScriptedClient send(RendezvousMessage rendezvousMessage) throws IOException {
        return send(List.of(rendezvousMessage));
    }

    ScriptedClient send(List<? extends RendezvousMessage> messages) throws IOException {
        for (RendezvousMessage rendezvousMessage : messages) {
            rendezvousFrames.write(rendezvousMessage);
        }
        rendezvousFrames.flush();
        return this;
    }

    /// The next message that is no heartbeat.
    RendezvousMessage receive() throws IOException {
        RendezvousMessage rendezvousMessage = rendezvousFrames.read();
        while (rendezvousMessage instanceof RendezvousMessage.Heartbeat) {
            rendezvousMessage = rendezvousFrames.read();
        }
        return rendezvousMessage;
    }

    @Override
    public void close() throws IOException {
        socket.close();
    }
}
