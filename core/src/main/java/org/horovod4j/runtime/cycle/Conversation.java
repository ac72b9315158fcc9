package org.horovod4j.runtime.cycle;

import org.horovod4j.runtime.controller.Coordinator;
import org.horovod4j.runtime.controller.SetState;
import org.horovod4j.runtime.message.Decoder;
import org.horovod4j.runtime.message.Encoder;
import org.horovod4j.runtime.message.FromRank;
import org.horovod4j.runtime.message.ToRanks;
import org.horovod4j.transport.Clock;
import org.horovod4j.transport.LinkBrokenException;
import org.horovod4j.transport.Patience;
import org.jspecify.annotations.Nullable;

import java.util.List;
import java.util.function.Consumer;

/// What a rank and its coordinator say to each other. On rank 0 both are here, and others on the
/// lines.
///
/// Used by the thread that drives the cycle.
final class Conversation {
    /// What is told at once. It must fit into what lies between two ranks, for one that has begun
    /// to do as it was told does not listen meanwhile, and nobody could wait for it to.
    private static final int CHUNK_BYTES = 16 * 1024;

    /// How often an operation that waits may listen: often enough for people, seldom enough for a
    /// coordinator with hundreds of lines.
    private static final long PAUSE_NANOS = 50_000;

    private final Star star;
    private final @Nullable Coordinator coordinator;
    private final SetState state;
    private final Patience patience;
    private final Clock clock;
    private final Consumer<ToRanks> listener;
    private long listenedNanos;
    private boolean listening;

    /// @param coordinator on rank 0, else null
    /// @param patience for waiting until all is said
    /// @param listener does what the coordinator has decided
    Conversation(
            Star star,
            @Nullable Coordinator coordinator,
            SetState state,
            Patience patience,
            Clock clock,
            Consumer<ToRanks> listener) {
        this.star = star;
        this.coordinator = coordinator;
        this.state = state;
        this.patience = patience;
        this.clock = clock;
        this.listener = listener;
    }

    /// Tells the coordinator something.
    void tell(FromRank message) {
        if (coordinator == null) {
            star.tell(Encoder.encode(message));
        } else {
            coordinator.hear(0, message);
        }
    }

    /// Does what has been decided, and takes in what others have said.
    ///
    /// @return whether there was anything
    boolean exchange() {
        boolean decided = decide();
        return listen() || decided;
    }

    /// The same for an operation of a plan that waits, perhaps for a rank that has left the plan.
    void exchangeWhileWaiting() {
        long now = clock.nanoTime();
        if (listening || now - listenedNanos < PAUSE_NANOS) {
            return;
        }
        listening = true; // and not once more, should it have to wait itself
        try {
            boolean _ = exchange();
        } finally {
            listening = false;
            listenedNanos = clock.nanoTime();
        }
    }

    /// Throws if a line is broken. A rank that has completed an operation may leave while others
    /// are still in it, so this is asked between operations, when there is nothing more to hear.
    void check() {
        LinkBrokenException broken = star.broken();
        if (broken != null) {
            throw broken;
        }
    }

    private boolean decide() {
        if (coordinator == null) {
            return false;
        }
        List<ToRanks> decisions = coordinator.decisions();
        for (int start = 0; start < decisions.size(); ) {
            int end = start;
            for (int bytes = 0; end < decisions.size() && bytes < CHUNK_BYTES; end++) {
                byte[] message = Encoder.encode(decisions.get(end));
                star.tellAll(message);
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
        patience.reset();
        while (!star.flush()) {
            state.check();
            patience.pause();
        }
    }

    private boolean listen() {
        boolean heard = false;
        for (Star.Heard next = star.poll(); next != null; next = star.poll()) {
            heard = true;
            if (coordinator == null) {
                listener.accept(Decoder.toRanks(next.message()));
            } else {
                coordinator.hear(next.rank(), Decoder.fromRank(next.message()));
            }
        }
        return heard;
    }
}
