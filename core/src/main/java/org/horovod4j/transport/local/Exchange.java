package org.horovod4j.transport.local;

import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/// Where the ranks of one world in one JVM find their pipes.
public final class Exchange {
    private final Map<Integer, PipeRack> racks = new ConcurrentHashMap<>();

    PipeRack channel(int id) {
        return racks.computeIfAbsent(id, _ -> new PipeRack());
    }
}
