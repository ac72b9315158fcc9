package org.horovod4j.transport;

import org.jspecify.annotations.Nullable;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.ArrayDeque;
import java.util.BitSet;
import java.util.Deque;

/// Sends and receives stamped messages over links. It can send and receive at the same time.
///
/// A message is the stamp of its collective followed by the payload. Both ends know the length, so
/// it is not sent. A short payload is sent together with the stamp in one call.
///
/// A collective that does not wait after each message starts several: messages are sent one after
/// the other, and received one after the other, in the order in which they were started. So the
/// next message is in flight while the last one arrives, and the latency of a link costs no time.
/// The messages make progress in [#await].
public final class PointToPoint implements AutoCloseable {
    /// The size of the send buffer and of the receive buffer. Both fit into a level-2 cache.
    static final int BUFFER_BYTES = 256 * 1024;

    static final int STAMP_BYTES = Long.BYTES;
    static final ValueLayout.OfLong STAMP = ValueLayout.JAVA_LONG_UNALIGNED;

    private final Links links;
    private final IdleStrategy idleStrategy;
    private final Arena arena = Arena.ofShared();
    private final MemorySegment sendBuffer = arena.allocate(STAMP_BYTES + BUFFER_BYTES, 64);
    private final MemorySegment receiveBuffer = arena.allocate(STAMP_BYTES + BUFFER_BYTES, 64);
    private final Deque<OutgoingMessage> outgoing = new ArrayDeque<>();
    private final Deque<IncomingMessage> incoming = new ArrayDeque<>();

    /// The peers with an open link.
    private final BitSet open = new BitSet();

    private long started;
    private long stamp;

    /// Whether the thread that drives this object waits for messages.
    private boolean waiting;

    public PointToPoint(Links links, IdleStrategy idleStrategy) {
        this.links = links;
        this.idleStrategy = idleStrategy;
        idleStrategy.addLinkUser(this::awaitFirstMessages);
    }

    /// Starts a collective: all messages until the next call carry `stamp`. Drops the messages that
    /// a failed collective has left.
    public void begin(long stamp) {
        this.stamp = stamp;
        dropMessages();
    }

    /// Sends a message to one peer while receiving a message from the same or another peer.
    public void exchange(
            int target,
            MemorySegment out,
            long outOffset,
            long outLength,
            int source,
            MessageSink sink) {
        open(target);
        open(source);
        OutgoingMessage _ = startSend(target, out, outOffset, outLength);
        IncomingMessage _ = startReceive(source, sink);
        awaitAll();
    }

    public void send(int target, MemorySegment out, long outOffset, long outLength) {
        open(target);
        OutgoingMessage _ = startSend(target, out, outOffset, outLength);
        awaitAll();
    }

    public void receive(int source, MessageSink sink) {
        open(source);
        IncomingMessage _ = startReceive(source, sink);
        awaitAll();
    }

    /// Opens the link to a peer, if it is not open. That may take until the peer opens it too. The
    /// peer may first need the messages that this rank has started, so these are done before.
    ///
    /// [#exchange], [#send] and [#receive] do this themselves.
    public void open(int peer) {
        if (!open.get(peer)) {
            awaitAll();
            Link _ = links.link(peer);
            open.set(peer);
        }
    }

    /// Starts to send a message over an [#open] link. The payload must not change until it is sent.
    public OutgoingMessage startSend(
            int target, MemorySegment out, long outOffset, long outLength) {
        return startForward(target, out, outOffset, outLength, null, 0);
    }

    /// Starts to send a message with bytes that another message writes to `out`. They are sent as
    /// they arrive.
    ///
    /// @param forwarded the other message; null if all bytes are there
    /// @param skipped how many bytes of `forwarded` precede those of this message. If negative, this
    ///     message begins with so many other bytes, which are there when all earlier messages were
    ///     sent
    public OutgoingMessage startForward(
            int target,
            MemorySegment out,
            long outOffset,
            long outLength,
            @Nullable IncomingMessage forwarded,
            long skipped) {
        Link link = link(target);
        OutgoingMessage message =
                new OutgoingMessage(
                        started++, link, stamp, out, outOffset, outLength, forwarded, skipped);
        outgoing.add(message);
        return message;
    }

    /// Starts to receive a message over an [#open] link.
    public IncomingMessage startReceive(int source, MessageSink sink) {
        return startReceive(source, sink, null);
    }

    /// Starts to receive a message into the payload of another one.
    ///
    /// @param overwritten the other message, of the same length: each byte is overwritten after it
    ///     was sent; null if there is none
    public IncomingMessage startReceive(
            int source, MessageSink sink, @Nullable OutgoingMessage overwritten) {
        Link link = link(source);
        IncomingMessage message = new IncomingMessage(started++, link, stamp, sink, overwritten);
        incoming.add(message);
        return message;
    }

    /// How many messages were started so far.
    public long started() {
        return started;
    }

    /// Sends and receives until the first `count` messages that were ever started are done. Later
    /// ones make progress too.
    public void await(long count) {
        idleStrategy.reset();
        poll();
        waiting = true;
        try {
            while (!isDone(count)) {
                if (poll()) {
                    idleStrategy.reset();
                } else {
                    idleStrategy.idle();
                }
            }
        } finally {
            waiting = false;
        }
    }

    /// The first message in each direction ends a sleep. The others follow it.
    private void awaitFirstMessages(LinkParker parker) {
        OutgoingMessage out = waiting ? outgoing.peek() : null;
        if (out != null) {
            out.registerWith(parker);
        }
        IncomingMessage in = waiting ? incoming.peek() : null;
        if (in != null) {
            in.registerWith(parker);
        }
    }

    /// Sends and receives until all messages are done.
    public void awaitAll() {
        await(started);
    }

    /// Sets the number of connections of each link that is opened after the next [#reset]; see
    /// [Links#useStreams].
    public void useStreams(int streams) {
        links.useStreams(streams);
    }

    /// Discards all messages in transit. All ranks call this together.
    public void reset() {
        dropMessages();
        open.clear();
        links.reset();
        idleStrategy.releaseClosedLinks();
    }

    @Override
    public void close() {
        links.close();
        arena.close();
    }

    private Link link(int peer) {
        if (!open.get(peer)) {
            throw new IllegalStateException("the link to rank " + peer + " is not open");
        }
        return links.link(peer);
    }

    private void dropMessages() {
        outgoing.clear();
        incoming.clear();
    }

    private boolean isDone(long count) {
        OutgoingMessage out = outgoing.peek();
        IncomingMessage in = incoming.peek();
        return (out == null || out.number() >= count) && (in == null || in.number() >= count);
    }

    /// Sends and receives what is possible now.
    ///
    /// @return whether there was anything
    private boolean poll() {
        boolean progress = false;
        OutgoingMessage out = outgoing.peek();
        if (out != null) {
            progress = out.step(sendBuffer);
            if (out.isDone()) {
                outgoing.remove();
            }
        }
        IncomingMessage in = incoming.peek();
        if (in != null) {
            progress |= in.step(receiveBuffer);
            if (in.isDone()) {
                incoming.remove();
            }
        }
        return progress;
    }
}
