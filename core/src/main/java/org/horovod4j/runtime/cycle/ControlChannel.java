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
import org.jspecify.annotations.Nullable;

import java.util.List;
import java.util.function.Consumer;

/// What a rank and its coordinator say to each other. On rank 0 both are here, and others on the
/// lines.
///
/// Used by the thread that drives the cycle.
final class ControlChannel {
    /// What is told at once. It must fit into what lies between two ranks, for one that has begun
    /// to do as it was told does not listen meanwhile, and nobody could wait for it to.
    private static final int CHUNK_BYTES = 16 * 1024;

    /// How often an operation that waits may listen: often enough for people, seldom enough for a
    /// coordinator with hundreds of lines.
    private static final long PAUSE_NANOS = 50_000;

    private final ControlConnections connections;
    private final @Nullable Coordinator coordinator;
    private final ProcessSetState state;
    private final IdleStrategy idleStrategy;
    private final Clock clock;
    private final Consumer<CoordinatorMessage> listener;
    private long receivedNanos;
    private boolean receiving;

    /// @param coordinator on rank 0, else null
    /// @param idleStrategy for waiting until all is said
    /// @param listener does what the coordinator has decided
    ControlChannel(
            ControlConnections controlConnections,
            @Nullable Coordinator coordinator,
            ProcessSetState state,
            IdleStrategy idleStrategy,
            Clock clock,
            Consumer<CoordinatorMessage> listener) {
        this.connections = controlConnections;
        this.coordinator = coordinator;
        this.state = state;
        this.idleStrategy = idleStrategy;
        this.clock = clock;
        this.listener = listener;
    }

    /// Tells the coordinator something.
    void send(RankMessage message) {
        if (coordinator == null) {
            connections.sendToCoordinator(ControlMessageEncoder.encode(message));
        } else {
            coordinator.receive(0, message);
        }
    }

    /// Does what has been decided, and takes in what others have said.
    ///
    /// @return whether there was anything
    boolean exchange() {
        boolean decided = sendDecisions();
        return receive() || decided;
    }

    /// The same for an operation of a plan that waits, perhaps for a rank that has left the plan.
    void exchangeWhileWaiting() {
        long now = clock.nanoTime();
        if (receiving || now - receivedNanos < PAUSE_NANOS) {
            return;
        }
        receiving = true; // and not once more, should it have to wait itself
        try {
            boolean _ = exchange();
        } finally {
            receiving = false;
            receivedNanos = clock.nanoTime();
        }
    }

    /// Throws if a line is broken. A rank that has completed an operation may leave while others
    /// are still in it, so this is asked between operations, when there is nothing more to hear.
    void check() {
        LinkBrokenException broken = connections.brokenLink();
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
            for (int bytes = 0; end < decisions.size() && bytes < CHUNK_BYTES; end++) {
                byte[] message = ControlMessageEncoder.encode(decisions.get(end));
                connections.sendToAll(message);
                bytes += message.length;
            }
            flush();
            for (; start < end; start++) {
                listener.accept(decisions.get(start));
            }
        }
        return !decisions.isEmpty();
    }

    /// Returns when all is under way: nobody may wait in an operation that another has not heard
    /// of.
    private void flush() {
        idleStrategy.reset();
        while (!connections.flush()) {
            state.check();
            idleStrategy.idle();
        }
    }

    private boolean receive() {
        boolean heard = false;
        for (ControlConnections.ReceivedMessage next = connections.poll();
                next != null;
                next = connections.poll()) {
            heard = true;
            if (coordinator == null) {
                listener.accept(ControlMessageDecoder.toRanks(next.message()));
            } else {
                coordinator.receive(next.rank(), ControlMessageDecoder.fromRank(next.message()));
            }
        }
        return heard;
    }
}
