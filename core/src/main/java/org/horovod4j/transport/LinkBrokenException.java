package org.horovod4j.transport;

import org.horovod4j.HorovodException;
import org.jspecify.annotations.Nullable;

/// A link is closed or has failed. The runtime converts it into a [org.horovod4j.PeerLostException]
/// that says why the peer is gone.
public final class LinkBrokenException extends HorovodException {
    private static final long serialVersionUID = 1L;

    private final int peer;

    public LinkBrokenException(int peer, String message, @Nullable Throwable cause) {
        super(message, cause);
        this.peer = peer;
    }

    public int peer() {
        return peer;
    }
}
