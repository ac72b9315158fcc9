package org.horovod4j.rendezvous;

import org.horovod4j.HorovodException;
import org.horovod4j.PeerLostException;
import org.horovod4j.ShutDownException;
import org.horovod4j.spi.RankDeparture;

/// The exception that a caller gets when a departure ends its wait.
final class PeerLoss {
    private PeerLoss() {}

    /// Names the rank, the reason, and where to look.
    static HorovodException toException(String doing, RendezvousMessage.Lost lost) {
        RankDeparture rankDeparture = lost.rankDeparture();
        if (rankDeparture.orderly()) {
            return new ShutDownException(
                    "%s: rank %d on %s %s"
                            .formatted(
                                    doing,
                                    rankDeparture.rank(),
                                    rankDeparture.host(),
                                    rankDeparture.reason()));
        }
        if (rankDeparture.rank() < 0) {
            return new PeerLostException(
                    -1,
                    rankDeparture.host(),
                    doing
                            + ": "
                            + rankDeparture.reason()
                            + "\nLook at the launcher's output first.",
                    null);
        }
        String process = lost.pid() < 0 ? "" : ", process " + lost.pid();
        return new PeerLostException(
                rankDeparture.rank(),
                rankDeparture.host(),
                """
                %s: rank %d (%s%s) is gone: %s
                Look at the output of rank %2$d first."""
                        .formatted(
                                doing,
                                rankDeparture.rank(),
                                rankDeparture.host(),
                                process,
                                rankDeparture.reason()),
                null);
    }
}
