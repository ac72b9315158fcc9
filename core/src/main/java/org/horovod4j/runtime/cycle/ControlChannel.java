package org.horovod4j.runtime.cycle;

import org.horovod4j.runtime.controller.Coordinator;
import org.horovod4j.runtime.controller.ProcessSetState;
import org.horovod4j.runtime.message.ControlMessageDecoder;
import org.horovod4j.runtime.message.ControlMessageEncoder;
import org.horovod4j.runtime.message.CoordinatorMessage;
import org.horovod4j.runtime.message.RankMessage;
import org.horovod4j.transport.Clock;
import org.horovod4j.transport.IdleStrategy;
import org.horovod4j.transport.LinkBrokenException;
import org.horovod4j.transport.LinkParker;
import org.horovod4j.transport.OutOfLineCall;
import org.jspecify.annotations.Nullable;

import java.util.List;
import java.util.function.Consumer;

/// Carries messages between the followers of a process set and its coordinator. On rank 0 the
/// coordinator is local, and the other ranks are reached over [ControlLinks].
///
/// Used only by the thread that drives the cycle.
final class ControlChannel {
    /// Decisions are sent in chunks of at most this size. A chunk must fit into the buffers between
    /// two ranks: a rank that runs a batch reads nothing meanwhile, and rank 0 cannot wait for it.
    /// A larger decision is sent alone: the other ranks read it after the batches before it.
    private static final int CHUNK_BYTES = 16 * 1024;

    /// The longest time between two polls while a batch waits. A poll of a coordinator reads from
    /// every other rank, of which there may be hundreds, so polls take at most half of the time.
    private static final long MAX_POLL_PAUSE_NANOS = 50_000;

    private final ControlLinks controlLinks;
    private final @Nullable Coordinator coordinator;
    private final ProcessSetState state;
    private final IdleStrategy idleStrategy;
    private final Clock clock;
    private final Consumer<CoordinatorMessage> listener;
    private final OutOfLineCall<ControlChannel> sendAndReceive =
            new OutOfLineCall<>(ControlChannel::sendAndReceive);
    private long receivedNanos;
    private long pollPauseNanos;
    private boolean receiving;
    private boolean flushing;

    /// Whether the last exchange sent or received anything.
    private boolean exchanged;

    /// @param coordinator on rank 0, else null
    /// @param idleStrategy for waiting until all bytes are sent
    /// @param listener receives the coordinator's decisions
    ControlChannel(
            ControlLinks controlLinks,
            @Nullable Coordinator coordinator,
            ProcessSetState state,
            IdleStrategy idleStrategy,
            Clock clock,
            Consumer<CoordinatorMessage> listener) {
        this.controlLinks = controlLinks;
        this.coordinator = coordinator;
        this.state = state;
        this.idleStrategy = idleStrategy;
        this.clock = clock;
        this.listener = listener;
    }

    /// Sends a message to the coordinator.
    void send(RankMessage message) {
        if (coordinator == null) {
            controlLinks.sendToCoordinator(ControlMessageEncoder.encode(message));
        } else {
            coordinator.receive(0, message);
        }
    }

    /// Delivers decisions of a local coordinator, and handles received messages.
    ///
    /// @return whether there was anything
    boolean exchange() {
        sendAndReceive.call(this);
        return exchanged;
    }

    private void sendAndReceive() {
        boolean decided = sendDecisions();
        exchanged = receive() || decided;
    }

    /// Like [#exchange], while a batch of a plan waits: another rank may have left the plan.
    void exchangeWhileWaiting() {
        long now = clock.nanoTime();
        if (receiving || now - receivedNanos < pollPauseNanos) {
            return;
        }
        receiving = true; // an exchange that waits must not call this again
        try {
            boolean _ = exchange();
        } finally {
            receiving = false;
            receivedNanos = clock.nanoTime();
            pollPauseNanos = Math.min(receivedNanos - now, MAX_POLL_PAUSE_NANOS);
        }
    }

    /// Messages end a sleep of a thread that would read them.
    ///
    /// @param reads whether this thread reads messages now
    void registerWith(LinkParker parker, boolean reads) {
        if (reads || flushing) {
            controlLinks.registerWith(parker, flushing);
        }
    }

    /// Throws if a link is broken. A rank that has completed a batch may leave the job while others
    /// are still in that batch. So the agent checks between batches, after it has read all
    /// messages.
    void check() {
        LinkBrokenException broken = controlLinks.brokenLink();
        if (broken != null) {
            throw broken;
        }
    }

    private boolean sendDecisions() {
        if (coordinator == null) {
            return false;
        }
        List<CoordinatorMessage> decisions = coordinator.decisions();
        for (int start = 0; start < decisions.size(); ) {
            int end = start;
            for (int bytes = 0; end < decisions.size(); end++) {
                byte[] message = ControlMessageEncoder.encode(decisions.get(end));
                bytes += message.length;
                if (end > start && bytes > CHUNK_BYTES) {
                    break;
                }
                controlLinks.sendToAll(message);
            }
            flush();
            for (; start < end; start++) {
                listener.accept(decisions.get(start));
            }
        }
        return !decisions.isEmpty();
    }

    /// Returns when all bytes are sent: no rank may wait in a batch whose decision another rank
    /// cannot receive.
    private void flush() {
        idleStrategy.reset();
        flushing = true;
        try {
            while (!controlLinks.flush()) {
                state.check();
                idleStrategy.idleUnchecked();
            }
        } finally {
            flushing = false;
        }
        idleStrategy.reset();
    }

    private boolean receive() {
        boolean received = false;
        for (ControlLinks.ReceivedMessage next = controlLinks.poll();
                next != null;
                next = controlLinks.poll()) {
            received = true;
            if (coordinator == null) {
                listener.accept(ControlMessageDecoder.toRanks(next.message()));
            } else {
                coordinator.receive(next.rank(), ControlMessageDecoder.fromRank(next.message()));
            }
        }
        return received;
    }
}
