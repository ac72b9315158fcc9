package org.horovod4j.collectives.algorithm;

import org.horovod4j.transport.MessageSink;
import org.horovod4j.transport.PointToPoint;

import java.lang.foreign.MemorySegment;
import java.util.List;

/// Ranks that exchange messages over links, numbered from 0.
///
/// @param pointToPoint sends and receives the messages
/// @param ranks the ranks of the members, in the same order on all members
/// @param index the index of this rank in `ranks`
public record LinkGroup(PointToPoint pointToPoint, List<Integer> ranks, int index) {
    public LinkGroup {
        ranks = List.copyOf(ranks);
    }

    public int size() {
        return ranks.size();
    }

    /// Sends to one member while receiving from the same or another member.
    public void exchange(
            int target, MemorySegment out, long offset, long length, int source, MessageSink sink) {
        pointToPoint.exchange(ranks.get(target), out, offset, length, ranks.get(source), sink);
    }

    void send(int target, MemorySegment out, long offset, long length) {
        pointToPoint.send(ranks.get(target), out, offset, length);
    }

    void receive(int source, MessageSink sink) {
        pointToPoint.receive(ranks.get(source), sink);
    }
}
