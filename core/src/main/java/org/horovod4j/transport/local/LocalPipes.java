package org.horovod4j.transport.local;

import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/// Where the ranks of one world in one JVM find their pipes.
public final class LocalPipes {
    private final Map<Integer, ChannelPipes> channels = new ConcurrentHashMap<>();

    ChannelPipes channel(int id) {
        return channels.computeIfAbsent(id, _ -> new ChannelPipes());
    }
}
