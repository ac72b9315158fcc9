package org.horovod4j.transport.tcp;

import org.horovod4j.security.SocketSettings;

/// How the links use the network. Both ends go by the dialler's.
///
/// @param remoteStreams connections per link between two hosts: one stream alone seldom fills a
///     fast network, since its window and its kernel thread are the limit
/// @param localStreams connections per link inside a host, where more than one only costs
/// @param sockets buffers of the kernel
public record TcpTuning(int remoteStreams, int localStreams, SocketSettings sockets) {
    /// More streams than this cost more than they bring.
    static final int MAX_STREAMS = 64;

    public static final TcpTuning DEFAULT = new TcpTuning(4, 1, SocketSettings.DEFAULT);

    public TcpTuning {
        check(remoteStreams);
        check(localStreams);
    }

    /// Connections of a link inside a host, or between two.
    int streams(boolean local) {
        return local ? localStreams : remoteStreams;
    }

    static void check(int streams) {
        if (streams < 1 || streams > MAX_STREAMS) {
            throw new IllegalArgumentException(
                    "a link has 1 to " + MAX_STREAMS + " streams, not " + streams);
        }
    }
}
