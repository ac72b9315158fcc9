package org.horovod4j.runtime.controller;

import org.horovod4j.HorovodException;
import org.horovod4j.MismatchException;
import org.horovod4j.PeerLostException;
import org.horovod4j.ShutDownException;
import org.horovod4j.runtime.message.Disagreement;
import org.horovod4j.runtime.message.Request;
import org.horovod4j.spi.Backend;
import org.horovod4j.spi.ControlPlane;
import org.horovod4j.transport.Clock;
import org.horovod4j.transport.LinkBrokenException;
import org.horovod4j.transport.StampMismatchException;
import org.jspecify.annotations.Nullable;

import java.util.List;

/// Runs operations one after the other, in the order in which this rank was asked for them.
///
/// That the other ranks do the same is not assumed: every message of an operation carries a stamp made
/// of its number and its request. A rank that sees a foreign stamp raises an alarm, and [LongWait] finds
/// ranks that never get to see one; all ranks then leave the operation, tell each other what they meant,
/// clean up and go on with the next one.
public final class Controller {
    private static final byte[] NOTHING = {};

    private final WorldState state;
    private final ControlPlane control;
    private final Backend backend;
    private final LongWait longWait;
    private @Nullable HorovodException fatal;

    public Controller(WorldState state, ControlPlane control, Backend backend, Clock clock) {
        this.state = state;
        this.control = control;
        this.backend = backend;
        this.longWait = new LongWait(clock, control::waiting);
        state.watch(longWait);
    }

    /// Runs one operation; one thread at a time.
    public <T> T perform(Request request, Operation<T> operation) {
        if (fatal != null) {
            throw fatal;
        }
        long number = state.begin();
        long stamp = request.stamp(number);
        try {
            state.check();
            longWait.begin(number, stamp);
            T result = operation.run(backend, stamp);
            state.complete(number);
            return result;
        } catch (StampMismatchException e) {
            control.alarm(number);
            throw settle(number, request);
        } catch (DisputedException e) {
            throw settle(number, request);
        } catch (LinkBrokenException e) {
            throw broken(e);
        } catch (PeerLostException e) {
            fatal = e;
            throw e;
        } catch (ShutDownException e) {
            throw e;
        } catch (RuntimeException | Error e) {
            throw failed(request, e);
        }
    }

    /// Asks all ranks what they meant, and starts afresh with them.
    private HorovodException settle(long number, Request mine) {
        try {
            List<Request> requests =
                    control.gather("request " + number, mine.encode()).stream()
                            .map(Request::decode)
                            .toList();
            backend.reset();
            control.gather("ready after " + number, NOTHING);
            state.complete(number);
            return new MismatchException(new Disagreement(requests).describe());
        } catch (PeerLostException | ShutDownException e) {
            return e;
        } catch (RuntimeException | Error e) {
            return failed(mine, e);
        }
    }

    private HorovodException broken(LinkBrokenException broken) {
        HorovodException story = state.explain(broken);
        if (story.getCause()
                == broken) { // nobody else has told of a loss, so this is the first news
            String reason =
                    "its connection to rank %d broke: %s"
                            .formatted(broken.peer(), broken.getMessage());
            control.leave(0, false, reason);
        }
        fatal = story;
        return story;
    }

    /// This rank cannot complete the operation, so the others must not wait for it.
    private HorovodException failed(Request request, Throwable cause) {
        control.leave(0, false, request + " failed there: " + cause);
        fatal = new HorovodException(request + " failed on this rank: " + cause, cause);
        return fatal;
    }

    /// The part of an operation that the backend does.
    @FunctionalInterface
    public interface Operation<T> {
        T run(Backend backend, long stamp);
    }
}
