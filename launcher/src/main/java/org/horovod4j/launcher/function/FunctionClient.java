package org.horovod4j.launcher.function;

import org.horovod4j.codec.ObjectCodec;
import org.horovod4j.connection.Connection;
import org.horovod4j.connection.Connection.CloseReason;
import org.horovod4j.security.Handshake;
import org.horovod4j.security.Handshake.Purpose;
import org.horovod4j.security.MultiAddressConnector;
import org.horovod4j.security.Secret;
import org.horovod4j.security.SocketSettings;

import java.io.IOException;
import java.io.InterruptedIOException;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;

/// Sends a rank's requests to the [FunctionServer], each over a new connection.
final class FunctionClient {
    private final MultiAddressConnector connector;
    private final List<InetSocketAddress> addresses;
    private final Duration heartbeatTimeout;
    private final Duration timeout;
    private final ObjectCodec codec = new ObjectCodec();

    /// @param addresses where the server may be
    /// @param heartbeatTimeout how long the server may be silent; a minute, if that is longer
    /// @param timeout how long to try to connect
    FunctionClient(
            Secret secret,
            List<InetSocketAddress> addresses,
            Duration heartbeatTimeout,
            Duration timeout) {
        this.heartbeatTimeout = FunctionServer.atLeastMinimum(heartbeatTimeout);
        Handshake handshake = new Handshake(secret, Purpose.FUNCTION);
        this.connector =
                new MultiAddressConnector(
                        SocketSettings.of(this.heartbeatTimeout), handshake::initiate);
        this.addresses = List.copyOf(addresses);
        this.timeout = timeout;
    }

    FunctionReference fetch() throws IOException {
        if (codec.decode(send(new FunctionServer.Fetch())) instanceof FunctionReference reference) {
            return reference;
        }
        throw new IOException("the launching program sent something other than a function");
    }

    /// Returns when the server has recorded the outcome.
    void report(RankOutcomes.Outcome outcome) throws IOException {
        byte[] _ = send(outcome);
    }

    private byte[] send(Object request) throws IOException {
        byte[] bytes = codec.encode(request);
        if (bytes.length > FunctionServer.MAX_MESSAGE_BYTES) {
            throw new IOException(
                    """
                    the result takes %d bytes, at most %d may be returned
                    Let the function write it to a file, and return the name."""
                            .formatted(bytes.length, FunctionServer.MAX_MESSAGE_BYTES));
        }
        CompletableFuture<byte[]> reply = new CompletableFuture<>();
        try (Connection<byte[]> connection =
                FunctionServer.connection(
                        connector.connect(addresses, timeout, () -> {}), heartbeatTimeout)) {
            connection.start("hvd-function-client", new ReplyReceiver(reply));
            connection.send(bytes);
            return reply.get();
        } catch (ExecutionException e) {
            throw new IOException("the launching program sent no reply: " + e.getCause(), e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw (IOException)
                    new InterruptedIOException("waiting for the launching program").initCause(e);
        }
    }

    private record ReplyReceiver(CompletableFuture<byte[]> reply)
            implements Connection.Receiver<byte[]> {
        @Override
        public void received(byte[] message) {
            reply.complete(message);
        }

        @Override
        public void closed(CloseReason closeReason) {
            reply.completeExceptionally(new IOException(closeReason.detail()));
        }
    }
}
