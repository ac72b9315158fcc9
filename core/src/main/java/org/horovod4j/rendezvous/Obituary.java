package org.horovod4j.rendezvous;

import org.horovod4j.HorovodException;
import org.horovod4j.PeerLostException;
import org.horovod4j.ShutDownException;
import org.horovod4j.spi.Loss;

/// What somebody is told whose waiting a loss has ended.
final class Obituary {
    private Obituary() {}

    /// Who is gone, why, and where to look.
    static HorovodException of(String doing, Message.Lost lost) {
        Loss loss = lost.loss();
        if (loss.orderly()) {
            return new ShutDownException(
                    "%s: rank %d on %s %s"
                            .formatted(doing, loss.rank(), loss.host(), loss.reason()));
        }
        if (loss.rank() < 0) {
            return new PeerLostException(
                    -1,
                    loss.host(),
                    doing + ": " + loss.reason() + "\nLook at the launcher's output first.",
                    null);
        }
        String process = lost.pid() < 0 ? "" : ", process " + lost.pid();
        return new PeerLostException(
                loss.rank(),
                loss.host(),
                """
                %s: rank %d (%s%s) is gone: %s
                Look at the output of rank %2$d first."""
                        .formatted(doing, loss.rank(), loss.host(), process, loss.reason()),
                null);
    }
}
