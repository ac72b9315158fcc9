package org.horovod4j.launcher.function;

import org.horovod4j.codec.CodecException;
import org.horovod4j.codec.ObjectCodec;
import org.horovod4j.log.Log;
import org.horovod4j.security.Acceptor;
import org.horovod4j.security.Handshake;
import org.horovod4j.security.Handshake.Purpose;
import org.horovod4j.security.RefusedConnectionLog;
import org.horovod4j.security.Secret;
import org.horovod4j.security.SecureConnection;
import org.horovod4j.security.SocketSettings;

import java.io.IOException;
import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.net.InetSocketAddress;

/// Where the ranks fetch the function and hand in what became of it, in the JVM that launched them.
///
/// Each errand is a connection of its own, a request and its answer: nothing idles for the hours
/// that a training may take, and nothing breaks meanwhile. Only those who prove that they know the
/// job's secret are served.
public final class FunctionServer implements AutoCloseable {
    private static final Logger LOGGER = Log.of(FunctionServer.class);

    private final byte[] function;
    private final int size;
    private final RankOutcomes outcomes;
    private final ObjectCodec codec = new ObjectCodec(FunctionServer.class.getClassLoader());
    private final Acceptor acceptor;

    private FunctionServer(
            Secret secret,
            InetSocketAddress bind,
            byte[] function,
            int size,
            RankOutcomes rankOutcomes) {
        this.function = function;
        this.size = size;
        this.outcomes = rankOutcomes;
        this.acceptor =
                Acceptor.open(
                        bind,
                        new Handshake(secret, Purpose.FUNCTION),
                        SocketSettings.DEFAULT,
                        new RefusedConnectionLog(LOGGER),
                        this::serve);
    }

    /// Opens a desk for the `size` ranks of one job.
    ///
    /// @param bind where to listen; port 0 picks one
    /// @param rankOutcomes where outcomes are noted
    public static FunctionServer open(
            Secret secret,
            InetSocketAddress bind,
            FunctionEncoder function,
            int size,
            RankOutcomes rankOutcomes) {
        return new FunctionServer(secret, bind, function.encoded(), size, rankOutcomes);
    }

    public int port() {
        return acceptor.address().getPort();
    }

    @Override
    public void close() {
        acceptor.close();
    }

    private void serve(SecureConnection secureConnection) {
        try (secureConnection) {
            FunctionConnection functionConnection = new FunctionConnection(secureConnection);
            functionConnection.write(answer(request(functionConnection.read())));
        } catch (IOException | CodecException e) {
            LOGGER.log(Level.WARNING, "A rank's errand to " + acceptor.address() + " failed", e);
        }
    }

    private FunctionRequest request(byte[] bytes) throws IOException {
        if (codec.decode(bytes) instanceof FunctionRequest functionRequest) {
            return functionRequest;
        }
        throw new IOException("what a rank sent is no request");
    }

    private byte[] answer(FunctionRequest functionRequest) throws IOException {
        return switch (functionRequest) {
            case FunctionRequest.Fetch() -> function;
            case FunctionRequest.Outcome outcome -> {
                if (outcome.rank() < 0 || outcome.rank() >= size) {
                    throw new IOException(
                            "an outcome of rank %d, where there are %d ranks"
                                    .formatted(outcome.rank(), size));
                }
                outcomes.add(outcome);
                yield new byte[0];
            }
        };
    }
}
