package org.horovod4j.launcher.function;

import org.horovod4j.codec.CodecException;
import org.horovod4j.codec.ObjectCodec;
import org.horovod4j.connection.Connection;
import org.horovod4j.connection.Connection.CloseReason;
import org.horovod4j.frame.MalformedMessageException;
import org.horovod4j.log.Log;
import org.horovod4j.security.Acceptor;
import org.horovod4j.security.Handshake;
import org.horovod4j.security.Handshake.Purpose;
import org.horovod4j.security.RefusedConnectionLog;
import org.horovod4j.security.Secret;
import org.horovod4j.security.SecureConnection;
import org.horovod4j.security.SocketSettings;
import org.jspecify.annotations.Nullable;

import java.io.IOException;
import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.List;

/// Sends the function to the ranks and receives their outcomes, in the JVM that launched them.
///
/// Each connection carries one request and its reply. A connection that stayed open would be idle
/// for the hours that a training may take, and could break meanwhile.
public final class FunctionServer implements AutoCloseable {
    private static final Logger LOGGER = Log.of(FunctionServer.class);

    /// The most bytes that a function with its captured values, or a result, may take.
    static final int MAX_MESSAGE_BYTES = 256 << 20;

    /// At least this, because a large function or result takes long to decode.
    private static final Duration MIN_HEARTBEAT_TIMEOUT = Duration.ofSeconds(60);

    /// The reply to an outcome.
    private static final byte[] RECORDED = {1};

    /// Asks for the function. The reply is a [FunctionReference].
    record Fetch() {}

    private final byte[] function;
    private final int size;
    private final RankOutcomes outcomes;
    private final ObjectCodec codec = new ObjectCodec(FunctionServer.class.getClassLoader());
    private final Duration heartbeatTimeout;
    private final Acceptor acceptor;

    /// Starts to serve the `size` ranks of one job.
    ///
    /// @param binds where to listen, with equal ports; port 0 picks one
    /// @param outcomes records the outcomes
    /// @param heartbeatTimeout how long a rank may be silent; a minute, if that is longer
    public FunctionServer(
            Secret secret,
            List<InetSocketAddress> binds,
            FunctionEncoder function,
            int size,
            RankOutcomes outcomes,
            Duration heartbeatTimeout) {
        this.function = function.encoded();
        this.heartbeatTimeout = atLeastMinimum(heartbeatTimeout);
        this.size = size;
        this.outcomes = outcomes;
        this.acceptor =
                Acceptor.open(
                        binds,
                        new Handshake(secret, Purpose.FUNCTION),
                        SocketSettings.of(this.heartbeatTimeout),
                        new RefusedConnectionLog(LOGGER),
                        this::accept);
    }

    /// A connection whose messages are bytes of an [ObjectCodec]. Each end has its own class loader.
    static Connection<byte[]> connection(
            SecureConnection secureConnection, Duration heartbeatTimeout) throws IOException {
        return new Connection<>(
                secureConnection, new ByteCodec(), MAX_MESSAGE_BYTES, heartbeatTimeout);
    }

    static Duration atLeastMinimum(Duration heartbeatTimeout) {
        return heartbeatTimeout.compareTo(MIN_HEARTBEAT_TIMEOUT) < 0
                ? MIN_HEARTBEAT_TIMEOUT
                : heartbeatTimeout;
    }

    private record ByteCodec() implements Connection.MessageCodec<byte[]> {
        @Override
        public byte[] encode(byte[] message) {
            return message;
        }

        @Override
        public byte[] decode(byte[] bytes) {
            return bytes;
        }
    }

    public int port() {
        return acceptor.address().getPort();
    }

    @Override
    public void close() {
        acceptor.close();
    }

    private void accept(SecureConnection secureConnection) throws IOException {
        Connection<byte[]> connection = connection(secureConnection, heartbeatTimeout);
        connection.start("hvd-function", new RequestHandler(connection));
    }

    /// Replies to one request, then ends the connection.
    private final class RequestHandler implements Connection.Receiver<byte[]> {
        private final Connection<byte[]> connection;
        private boolean replied;

        RequestHandler(Connection<byte[]> connection) {
            this.connection = connection;
        }

        @Override
        public void received(byte[] message) throws MalformedMessageException {
            connection.send(reply(message));
            replied = true;
            connection.finish();
        }

        @Override
        public void closed(CloseReason closeReason) {
            if (!replied) {
                LOGGER.log(
                        Level.WARNING,
                        "A request of a rank to {0} failed: {1}",
                        acceptor.address(),
                        closeReason.detail());
            }
        }
    }

    private byte[] reply(byte[] request) throws MalformedMessageException {
        return switch (decode(request)) {
            case Fetch() -> function;
            case RankOutcomes.Outcome outcome -> {
                if (outcome.rank() < 0 || outcome.rank() >= size) {
                    throw new MalformedMessageException(
                            "an outcome of rank %d, but the job has %d ranks"
                                    .formatted(outcome.rank(), size));
                }
                outcomes.add(outcome);
                yield RECORDED;
            }
            case null, default ->
                    throw new MalformedMessageException("an object that is not a request");
        };
    }

    private @Nullable Object decode(byte[] bytes) throws MalformedMessageException {
        try {
            return codec.decode(bytes);
        } catch (CodecException e) {
            throw new MalformedMessageException(String.valueOf(e.getMessage()));
        }
    }
}
