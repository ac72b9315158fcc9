package org.horovod4j.transport.tcp;

import org.horovod4j.security.SocketSettings;

import java.time.Duration;

/// How links use the network. The settings of the connecting rank apply to both ends.
///
/// @param remoteStreams connections per link between two hosts. A single stream rarely saturates a
///     fast network: its window and its kernel thread limit it
/// @param localStreams connections per link within a host, where more than one only adds cost
/// @param sockets the kernel's buffer sizes, and how long it waits for a peer that does not answer
public record TcpTuning(int remoteStreams, int localStreams, SocketSettings sockets) {
    /// More streams than this cost more than they gain.
    static final int MAX_STREAMS = 64;

    public static final TcpTuning DEFAULT = new TcpTuning(2, 1, SocketSettings.DEFAULT);

    public TcpTuning {
        check(remoteStreams);
        check(localStreams);
    }

    /// Settings for a number of streams and a heartbeat timeout.
    ///
    /// @param streams connections per link, the same within a host; 0 for the defaults
    /// @param heartbeatTimeout how long a peer may be silent before it is declared lost
    public static TcpTuning of(int streams, Duration heartbeatTimeout) {
        SocketSettings sockets = SocketSettings.of(heartbeatTimeout);
        return streams == 0
                ? new TcpTuning(DEFAULT.remoteStreams, DEFAULT.localStreams, sockets)
                : new TcpTuning(streams, streams, sockets);
    }

    /// The connections of a link within a host, or between two hosts.
    int streams(boolean local) {
        return local ? localStreams : remoteStreams;
    }

    static void check(int streams) {
        if (streams < 1 || streams > MAX_STREAMS) {
            throw new IllegalArgumentException(
                    "a link has 1 to " + MAX_STREAMS + " streams, got " + streams);
        }
    }
}
