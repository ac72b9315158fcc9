package org.horovod4j.security;

import org.horovod4j.security.Handshake.Answer;
import org.jspecify.annotations.Nullable;

import java.io.EOFException;
import java.io.IOException;
import java.net.InetAddress;
import java.nio.ByteBuffer;
import java.nio.channels.SocketChannel;
import java.util.Arrays;

/// An accepted connection that has not completed the handshake.
///
/// Keeps the bytes that have arrived, a hundred at most, so a stranger needs no thread. Both
/// messages of the acceptor fit into the empty send buffer of a new connection.
final class PendingHandshake {
    private final Handshake handshake;
    private final SocketChannel channel;
    private final InetAddress source;
    private final long deadlineNanos;
    private byte[] received = {};
    private @Nullable Answer answer;

    PendingHandshake(Handshake handshake, SocketChannel channel) {
        this.handshake = handshake;
        this.channel = channel;
        this.source = channel.socket().getInetAddress();
        this.deadlineNanos = System.nanoTime() + handshake.deadline().toNanos();
    }

    SocketChannel channel() {
        return channel;
    }

    /// The address of the peer.
    InetAddress source() {
        return source;
    }

    long remainingNanos() {
        return deadlineNanos - System.nanoTime();
    }

    /// Reads what has arrived, and answers.
    ///
    /// @return the connection once the handshake is complete; null while more must arrive
    /// @throws HandshakeException when the peer does not belong to this job
    @Nullable SecureConnection advance() throws HandshakeException {
        try {
            while (isMessageComplete()) {
                if (answer != null) {
                    return handshake.finish(channel, answer, received);
                }
                answer = handshake.answer(channel, HandshakeHello.of(received));
                received = new byte[0];
            }
            return null;
        } catch (HandshakeException e) {
            throw e;
        } catch (IOException e) {
            throw Handshake.closedEarly();
        }
    }

    /// Never reads beyond the message: what follows belongs to the connection.
    private boolean isMessageComplete() throws IOException {
        int missing;
        while ((missing = missingBytes()) > 0) {
            ByteBuffer buffer = ByteBuffer.allocate(missing);
            int count = channel.read(buffer);
            if (count < 0) {
                throw new EOFException("closed during the handshake");
            }
            if (count == 0) {
                return false;
            }
            received = ByteArrays.concat(received, Arrays.copyOf(buffer.array(), count));
        }
        return true;
    }

    private int missingBytes() throws HandshakeException {
        return answer == null
                ? handshake.missingHelloBytes(received)
                : Handshake.PROOF_SIZE - received.length;
    }
}
