package org.horovod4j.collectives.algorithm;

import org.horovod4j.transport.MessageSink;
import org.horovod4j.transport.PointToPoint;

import java.lang.foreign.MemorySegment;
import java.util.List;

/// Ranks that talk over links, numbered from 0 in a common order.
///
/// @param pointToPoint carries the messages
/// @param ranks the members' world ranks, in the order all members know them
/// @param index this rank among them
public record LinkGroup(PointToPoint pointToPoint, List<Integer> ranks, int index) {
    public LinkGroup {
        ranks = List.copyOf(ranks);
    }

    public int size() {
        return ranks.size();
    }

    /// Sends to one member while receiving from another, or the same.
    public void exchange(
            int target,
            MemorySegment out,
            long offset,
            long length,
            int source,
            MessageSink messageSink) {
        pointToPoint.exchange(
                ranks.get(target), out, offset, length, ranks.get(source), messageSink);
    }

    void send(int target, MemorySegment out, long offset, long length) {
        pointToPoint.send(ranks.get(target), out, offset, length);
    }

    void receive(int source, MessageSink messageSink) {
        pointToPoint.receive(ranks.get(source), messageSink);
    }
}
