package org.horovod4j.launcher.function;

import org.horovod4j.codec.ObjectCodec;
import org.horovod4j.trust.Dialler;
import org.horovod4j.trust.Handshake;
import org.horovod4j.trust.Handshake.Purpose;
import org.horovod4j.trust.Line;
import org.horovod4j.trust.Secret;
import org.horovod4j.trust.SocketSettings;

import java.io.IOException;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.List;

/// A rank's way to the [FunctionDesk].
final class FunctionLine {
    private final Dialler dialler;
    private final List<InetSocketAddress> addresses;
    private final Duration patience;
    private final ObjectCodec codec = new ObjectCodec();

    /// @param addresses where the desk may be reached
    /// @param patience how long to look for it there
    FunctionLine(Secret secret, List<InetSocketAddress> addresses, Duration patience) {
        Handshake handshake = new Handshake(secret, Purpose.FUNCTION);
        this.dialler = new Dialler(SocketSettings.DEFAULT, handshake::dial);
        this.addresses = List.copyOf(addresses);
        this.patience = patience;
    }

    FunctionReference fetch() throws IOException {
        if (codec.decode(ask(new Request.Fetch())) instanceof FunctionReference reference) {
            return reference;
        }
        throw new IOException("what the launching program sent is no function");
    }

    /// Returns when the outcome is noted there.
    void handIn(Request.Outcome outcome) throws IOException {
        byte[] _ = ask(outcome);
    }

    private byte[] ask(Request request) throws IOException {
        byte[] bytes = codec.encode(request);
        if (bytes.length > Frames.LIMIT) {
            throw new IOException(
                    """
                    the result takes %d bytes, at most %d may be returned
                    Let the function write it to a file, and return the name."""
                            .formatted(bytes.length, Frames.LIMIT));
        }
        try (Line line = dialler.dial(addresses, patience, () -> {})) {
            Frames frames = new Frames(line);
            frames.write(bytes);
            return frames.read();
        }
    }
}
