package org.horovod4j.rendezvous;

import org.horovod4j.frame.Frame;
import org.horovod4j.frame.MalformedMessageException;
import org.horovod4j.security.SecureConnection;

import java.io.BufferedInputStream;
import java.io.BufferedOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.EOFException;
import java.io.IOException;

/// A connection as a sequence of messages, each a length and then the bytes of [RendezvousMessageCodec].
///
/// One thread reads and one writes.
final class RendezvousFrames {
    /// The most that a client may send at once.
    static final int CLIENT_LIMIT = 1 << 20;

    private final DataInputStream in;
    private final DataOutputStream out;
    private final int readLimit;

    RendezvousFrames(SecureConnection secureConnection, int readLimit) throws IOException {
        this.in = new DataInputStream(new BufferedInputStream(secureConnection.input()));
        this.out = new DataOutputStream(new BufferedOutputStream(secureConnection.output()));
        this.readLimit = readLimit;
    }

    /// The most that the server sends at once to a world of `size`: one share of a gather from
    /// each, and as much again for lengths and names.
    static int serverLimit(int size) {
        return (int) Math.min((size + 1L) * CLIENT_LIMIT, Integer.MAX_VALUE - 16L);
    }

    /// @throws MalformedMessageException when the bytes are not a message
    /// @throws EOFException when the other end closed
    RendezvousMessage read() throws IOException {
        return RendezvousMessageCodec.decode(Frame.read(in, readLimit));
    }

    /// Writes into a buffer, see [#flush].
    void write(RendezvousMessage rendezvousMessage) throws IOException {
        Frame.write(RendezvousMessageCodec.encode(rendezvousMessage), out);
    }

    void flush() throws IOException {
        out.flush();
    }
}
