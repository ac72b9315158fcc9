package org.horovod4j.runtime;

import org.horovod4j.ConfigurationException;
import org.horovod4j.HorovodException;
import org.horovod4j.PeerLostException;
import org.horovod4j.ShutDownException;
import org.horovod4j.runtime.controller.WorldState;
import org.horovod4j.spi.ControlPlane;
import org.horovod4j.transport.LinkBrokenException;

import java.util.List;
import java.util.Map;

/// Handles a failure on this rank: reports it to the other ranks, and finds its first cause for the
/// program.
final class FailureHandler {
    private final WorldState state;
    private final ControlPlane control;

    FailureHandler(WorldState state, ControlPlane control) {
        this.state = state;
        this.control = control;
    }

    /// The exception to throw for `failure`, which ends the process set of `ranks` on this rank.
    HorovodException explain(Throwable failure, List<Integer> ranks) {
        HorovodException explained =
                switch (failure) {
                    case LinkBrokenException broken -> broken(broken, ranks);
                    case ConfigurationException unreachable -> unreachable(unreachable, ranks);
                    case PeerLostException lost -> lost;
                    case ShutDownException over -> over;
                    default -> failed(failure);
                };
        state.blockedBy().ifPresent(control::reportBlocked);
        return explained;
    }

    private HorovodException broken(LinkBrokenException broken, List<Integer> ranks) {
        HorovodException explained = state.explain(broken, ranks);
        if (explained.getCause() == broken) { // no loss is known yet: report it
            leave(
                    "its connection to rank %d broke: %s"
                            .formatted(broken.peer(), broken.getMessage()));
        }
        return explained;
    }

    /// A rank that does not accept a connection may have just ended.
    private HorovodException unreachable(ConfigurationException failure, List<Integer> ranks) {
        HorovodException explained = state.explain(failure, ranks);
        if (explained == failure) {
            leave("a collective failed there: " + failure.getMessage());
        }
        return explained;
    }

    /// This rank cannot complete the operation, so the others must not wait for it.
    private HorovodException failed(Throwable cause) {
        leave("a collective failed there: " + cause);
        return new HorovodException("a collective failed on this rank: " + cause, cause);
    }

    /// Reports to the other ranks that this rank can no longer take part.
    void leave(String reason) {
        control.leave(Map.of(), false, reason);
    }
}
