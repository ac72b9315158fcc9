package org.horovod4j.collectives.algorithm;

import org.horovod4j.transport.IncomingMessage;
import org.horovod4j.transport.MessageSink;
import org.horovod4j.transport.OutgoingMessage;
import org.horovod4j.transport.PointToPoint;
import org.jspecify.annotations.Nullable;

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

    /// Opens the links to two members, which may be the same, so that messages can be started.
    void open(int target, int source) {
        pointToPoint.open(ranks.get(target));
        pointToPoint.open(ranks.get(source));
    }

    /// See [PointToPoint#startSend].
    OutgoingMessage startSend(int target, MemorySegment out, long offset, long length) {
        return pointToPoint.startSend(ranks.get(target), out, offset, length);
    }

    /// Sends what `forwarded` receives, if it is not null.
    void startForward(
            int target,
            MemorySegment out,
            long offset,
            long length,
            @Nullable IncomingMessage forwarded) {
        startForward(target, out, offset, length, forwarded, 0);
    }

    /// See [PointToPoint#startForward].
    void startForward(
            int target,
            MemorySegment out,
            long offset,
            long length,
            @Nullable IncomingMessage forwarded,
            long skipped) {
        OutgoingMessage _ =
                pointToPoint.startForward(
                        ranks.get(target), out, offset, length, forwarded, skipped);
    }

    /// See [PointToPoint#startReceive].
    IncomingMessage startReceive(int source, MessageSink sink) {
        return pointToPoint.startReceive(ranks.get(source), sink);
    }

    /// The same into the payload of another message.
    void startReceive(int source, MessageSink sink, OutgoingMessage overwritten) {
        IncomingMessage _ = pointToPoint.startReceive(ranks.get(source), sink, overwritten);
    }

    void send(int target, MemorySegment out, long offset, long length) {
        pointToPoint.send(ranks.get(target), out, offset, length);
    }

    void receive(int source, MessageSink sink) {
        pointToPoint.receive(ranks.get(source), sink);
    }
}
