package org.horovod4j.launcher.elastic;

import org.horovod4j.launcher.plan.Host;
import org.horovod4j.launcher.plan.Slot;

import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.SequencedMap;

/// What a decision asks for.
public sealed interface Action {
    /// Get a host ready, and tell how that went.
    record Open(Host host) implements Action {}

    /// Let go of a host, which has no workers any more.
    record Release(String host) implements Action {}

    record Start(Worker worker) implements Action {}

    /// Give these workers their places.
    ///
    /// @param places by rank
    /// @param sync whether they get their state from rank 0 first
    record Form(int generation, SequencedMap<Worker, Slot> places, boolean sync) implements Action {
        public Form {
            places = Collections.unmodifiableSequencedMap(new LinkedHashMap<>(places));
        }
    }

    /// Ask all workers to come back at their next commit.
    record CallBack() implements Action {}

    /// Tell a worker that waits for a place that it gets none.
    record Dismiss(Worker worker, String reason) implements Action {}

    record Kill(Worker worker) implements Action {}

    /// End the job: it cannot go on.
    record GiveUp(String reason) implements Action {}

    /// Tell the user of a decision.
    record Say(String text) implements Action {}

    /// The same for users who want to know all.
    record Explain(String text) implements Action {}
}
