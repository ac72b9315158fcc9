package org.horovod4j;

import org.jspecify.annotations.Nullable;

/// Another process of the job is lost, so no collective can run: restore and retry, or end.
public final class PeerLostException extends HorovodException {
    private static final long serialVersionUID = 1L;

    private final int lostRank;
    private final String host;

    public PeerLostException(int lostRank, String host, String message, @Nullable Throwable cause) {
        super(message, cause);
        this.lostRank = lostRank;
        this.host = host;
    }

    /// The rank of the job that was lost first, or -1 if the launcher was lost.
    public int lostRank() {
        return lostRank;
    }

    /// The host of the lost rank.
    public String host() {
        return host;
    }
}
