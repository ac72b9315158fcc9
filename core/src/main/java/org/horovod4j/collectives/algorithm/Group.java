package org.horovod4j.collectives.algorithm;

import org.horovod4j.transport.Sink;
import org.horovod4j.transport.Wire;

import java.lang.foreign.MemorySegment;
import java.util.List;

/// Ranks that talk over links, numbered from 0 in a common order.
///
/// @param wire carries the messages
/// @param ranks the members' world ranks, in the order all members know them
/// @param index this rank among them
public record Group(Wire wire, List<Integer> ranks, int index) {
    public Group {
        ranks = List.copyOf(ranks);
    }

    public int size() {
        return ranks.size();
    }

    /// Sends to one member while receiving from another, or the same.
    public void exchange(
            int target, MemorySegment out, long offset, long length, int source, Sink sink) {
        wire.exchange(ranks.get(target), out, offset, length, ranks.get(source), sink);
    }

    void send(int target, MemorySegment out, long offset, long length) {
        wire.send(ranks.get(target), out, offset, length);
    }

    void receive(int source, Sink sink) {
        wire.receive(ranks.get(source), sink);
    }
}
