package org.horovod4j.rendezvous;

import org.horovod4j.frame.Frame;
import org.horovod4j.security.Handshake;
import org.horovod4j.security.Handshake.Purpose;
import org.horovod4j.security.SecureConnection;

import java.io.BufferedOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.nio.channels.SocketChannel;
import java.util.List;

/// An authenticated peer that sends only what a test tells it to: no heartbeats.
final class ScriptedClient implements AutoCloseable {
    private static final int MAX_RANKS = 100;

    final Socket socket;
    final SecureConnection secureConnection;
    private final DataInputStream in;
    private final DataOutputStream out;

    ScriptedClient(RendezvousTestRanks ranks) throws IOException {
        this(connect(ranks));
    }

    ScriptedClient(SecureConnection secureConnection) throws IOException {
        this.secureConnection = secureConnection;
        this.socket = secureConnection.channel().socket();
        socket.setSoTimeout(0);
        this.in = new DataInputStream(secureConnection.input());
        this.out = new DataOutputStream(new BufferedOutputStream(secureConnection.output()));
    }

    private static SecureConnection connect(RendezvousTestRanks ranks) throws IOException {
        int port = ranks.server.address().getPort();
        return new Handshake(ranks.secret, Purpose.RENDEZVOUS)
                .initiate(SocketChannel.open(new InetSocketAddress("localhost", port)));
    }

    ScriptedClient send(RendezvousMessage message) throws IOException {
        return send(List.of(message));
    }

    ScriptedClient send(List<? extends RendezvousMessage> messages) throws IOException {
        for (RendezvousMessage message : messages) {
            Frame.write(RendezvousMessageCodec.INSTANCE.encode(message), out);
        }
        out.flush();
        return this;
    }

    /// The next message that is not a heartbeat.
    RendezvousMessage receive() throws IOException {
        byte[] bytes;
        do {
            bytes = Frame.read(in, RendezvousMessageCodec.maxServerBytes(MAX_RANKS));
        } while (bytes.length == 0);
        return RendezvousMessageCodec.INSTANCE.decode(bytes);
    }

    @Override
    public void close() throws IOException {
        socket.close();
    }
}
