package org.horovod4j.transport;

import org.jspecify.annotations.Nullable;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.channels.CancelledKeyException;
import java.nio.channels.ClosedChannelException;
import java.nio.channels.SelectableChannel;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Consumer;

/// Parks the thread of a rank until one of its links has bytes to receive or room to send.
///
/// Each user of links says what it waits for right before the thread parks. Only that ends the sleep:
/// bytes of a rank that is early for a later step stay where they are. A link through memory has no
/// channel and cannot end it, so callers limit the time.
///
/// One thread at a time uses an instance.
public final class LinkParker implements AutoCloseable {
    private static final long NANOS_PER_MILLI = 1_000_000;

    private final List<Consumer<LinkParker>> users = new ArrayList<>();

    /// What the thread waits for now, and what it waited for before. A key that is only in the latter
    /// must not end the sleep.
    private List<SelectionKey> awaited = new ArrayList<>();

    private List<SelectionKey> awaitedBefore = new ArrayList<>();

    /// Opened before the first sleep. Many ranks never sleep for a link.
    private @Nullable Selector selector;

    private long round;
    private boolean linkClosed;
    private boolean closed;

    /// What a key is awaited for, and in which round that was last registered.
    private static final class Interest {
        private int operations;
        private long round;
    }

    /// Adds a user of links. It calls [#wakeOnReadable] and [#wakeOnWritable] for the links that it
    /// waits for.
    void add(Consumer<LinkParker> user) {
        users.add(user);
    }

    /// Bytes that arrive on the link end the sleep.
    public void wakeOnReadable(Link link) {
        await(link.receiveChannel(), SelectionKey.OP_READ);
    }

    /// Room to send over the link ends the sleep.
    public void wakeOnWritable(Link link) {
        await(link.sendChannel(), SelectionKey.OP_WRITE);
    }

    /// Whether a link can end a sleep now.
    boolean canPark() {
        if (closed) {
            return false;
        }
        try {
            updateInterest();
        } catch (CancelledKeyException e) {
            linkClosed = true; // by another thread, after the link was registered
        }
        return linkClosed || !awaited.isEmpty();
    }

    /// Sleeps until a link is ready, and at most for `nanos`, rounded up to a millisecond. Call it
    /// after [#canPark].
    ///
    /// @return whether a link is ready
    boolean park(long nanos) {
        if (linkClosed) {
            return true; // the user finds out why when it uses the link
        }
        try {
            return selector().select(_ -> {}, Math.ceilDiv(nanos, NANOS_PER_MILLI)) > 0;
        } catch (IOException e) {
            throw new UncheckedIOException("waiting for other ranks", e);
        }
    }

    /// Frees the sockets of links that were closed. Until then a socket stays open that was waited
    /// for.
    void releaseClosedLinks() {
        if (selector != null) {
            try {
                int _ = selector.selectNow(_ -> {});
            } catch (IOException e) {
                throw new UncheckedIOException("closing links", e);
            }
        }
    }

    /// Ends the use of this object. Links that were closed before are freed.
    @Override
    public void close() {
        closed = true;
        if (selector != null) {
            try {
                selector.close();
            } catch (IOException e) {
                throw new UncheckedIOException("closing links", e);
            }
        }
    }

    private void updateInterest() {
        List<SelectionKey> before = awaited;
        awaited = awaitedBefore;
        awaited.clear();
        awaitedBefore = before;
        linkClosed = false;
        round++;
        users.forEach(user -> user.accept(this));
        for (SelectionKey key : before) {
            if (key.isValid() && interest(key).round != round) {
                key.interestOps(0);
            }
        }
        awaited.forEach(key -> key.interestOps(interest(key).operations));
    }

    private void await(@Nullable SelectableChannel channel, int operation) {
        if (channel == null) {
            return;
        }
        SelectionKey key = channel.keyFor(selector());
        if (key == null) {
            try {
                key = channel.register(selector(), 0, new Interest());
            } catch (ClosedChannelException e) {
                linkClosed = true;
                return;
            }
        }
        Interest interest = interest(key);
        if (interest.round != round) {
            interest.round = round;
            interest.operations = 0;
            awaited.add(key);
        }
        interest.operations |= operation;
    }

    private static Interest interest(SelectionKey key) {
        return (Interest) key.attachment();
    }

    private Selector selector() {
        Selector opened = selector;
        if (opened == null) {
            try {
                opened = Selector.open();
            } catch (IOException e) {
                throw new UncheckedIOException("preparing to wait for other ranks", e);
            }
            selector = opened;
        }
        return opened;
    }
}
