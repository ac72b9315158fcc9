package org.horovod4j.launcher.function;

import org.horovod4j.codec.ObjectCodec;
import org.horovod4j.security.Handshake;
import org.horovod4j.security.Handshake.Purpose;
import org.horovod4j.security.MultiAddressConnector;
import org.horovod4j.security.Secret;
import org.horovod4j.security.SecureConnection;
import org.horovod4j.security.SocketSettings;

import java.io.IOException;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.List;

/// A rank's way to the [FunctionServer].
final class FunctionClient {
    private final MultiAddressConnector connector;
    private final List<InetSocketAddress> addresses;
    private final Duration timeout;
    private final ObjectCodec codec = new ObjectCodec();

    /// @param addresses where the desk may be reached
    /// @param timeout how long to look for it there
    FunctionClient(Secret secret, List<InetSocketAddress> addresses, Duration timeout) {
        Handshake handshake = new Handshake(secret, Purpose.FUNCTION);
        this.connector = new MultiAddressConnector(SocketSettings.DEFAULT, handshake::initiate);
        this.addresses = List.copyOf(addresses);
        this.timeout = timeout;
    }

    FunctionReference fetch() throws IOException {
        if (codec.decode(send(new FunctionRequest.Fetch()))
                instanceof FunctionReference reference) {
            return reference;
        }
        throw new IOException("what the launching program sent is no function");
    }

    /// Returns when the outcome is noted there.
    void report(FunctionRequest.Outcome outcome) throws IOException {
        byte[] _ = send(outcome);
    }

    private byte[] send(FunctionRequest functionRequest) throws IOException {
        byte[] bytes = codec.encode(functionRequest);
        if (bytes.length > FunctionConnection.MAX_FRAME_BYTES) {
            throw new IOException(
                    """
                    the result takes %d bytes, at most %d may be returned
                    Let the function write it to a file, and return the name."""
                            .formatted(bytes.length, FunctionConnection.MAX_FRAME_BYTES));
        }
        try (SecureConnection secureConnection = connector.connect(addresses, timeout, () -> {})) {
            FunctionConnection functionConnection = new FunctionConnection(secureConnection);
            functionConnection.write(bytes);
            return functionConnection.read();
        }
    }
}
