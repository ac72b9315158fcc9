package org.horovod4j.launcher.function;

import org.horovod4j.codec.CodecException;
import org.horovod4j.codec.ObjectCodec;
import org.horovod4j.log.Log;
import org.horovod4j.trust.Gate;
import org.horovod4j.trust.Handshake;
import org.horovod4j.trust.Handshake.Purpose;
import org.horovod4j.trust.Line;
import org.horovod4j.trust.RefusalLog;
import org.horovod4j.trust.Secret;
import org.horovod4j.trust.SocketSettings;

import java.io.IOException;
import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.net.InetSocketAddress;

/// Where the ranks fetch the function and hand in what became of it, in the JVM that launched them.
///
/// Each errand is a connection of its own, a request and its answer: nothing idles for the hours
/// that a training may take, and nothing breaks meanwhile. Only those who prove that they know the
/// job's secret are served.
public final class FunctionDesk implements AutoCloseable {
    private static final Logger LOGGER = Log.of(FunctionDesk.class);

    private final byte[] function;
    private final int size;
    private final Ledger ledger;
    private final ObjectCodec codec = new ObjectCodec(FunctionDesk.class.getClassLoader());
    private final Gate gate;

    private FunctionDesk(
            Secret secret, InetSocketAddress bind, byte[] function, int size, Ledger ledger) {
        this.function = function;
        this.size = size;
        this.ledger = ledger;
        this.gate =
                Gate.open(
                        bind,
                        new Handshake(secret, Purpose.FUNCTION),
                        SocketSettings.DEFAULT,
                        new RefusalLog(LOGGER),
                        this::serve);
    }

    /// Opens a desk for the `size` ranks of one job.
    ///
    /// @param bind where to listen; port 0 picks one
    /// @param ledger where outcomes are noted
    public static FunctionDesk open(
            Secret secret,
            InetSocketAddress bind,
            FunctionReader function,
            int size,
            Ledger ledger) {
        return new FunctionDesk(secret, bind, function.bytes(), size, ledger);
    }

    public int port() {
        return gate.address().getPort();
    }

    @Override
    public void close() {
        gate.close();
    }

    private void serve(Line line) {
        try (line) {
            Frames frames = new Frames(line);
            frames.write(answer(request(frames.read())));
        } catch (IOException | CodecException e) {
            LOGGER.log(Level.WARNING, "A rank's errand to " + gate.address() + " failed", e);
        }
    }

    private Request request(byte[] bytes) throws IOException {
        if (codec.decode(bytes) instanceof Request request) {
            return request;
        }
        throw new IOException("what a rank sent is no request");
    }

    private byte[] answer(Request request) throws IOException {
        return switch (request) {
            case Request.Fetch() -> function;
            case Request.Outcome outcome -> {
                if (outcome.rank() < 0 || outcome.rank() >= size) {
                    throw new IOException(
                            "an outcome of rank %d, where there are %d ranks"
                                    .formatted(outcome.rank(), size));
                }
                ledger.enter(outcome);
                yield new byte[0];
            }
        };
    }
}
