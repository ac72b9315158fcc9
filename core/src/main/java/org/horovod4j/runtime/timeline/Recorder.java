package org.horovod4j.runtime.timeline;

import java.util.List;

/// Receives events of the runtime, from any thread, in the order in which they happen.
///
/// Callers check [#isOn] before they create a [Collective] or call another method, so recording
/// costs one memory read while it is off. No method waits or throws.
public interface Recorder {
    /// Records nothing.
    Recorder NONE = new NoopRecorder();

    /// Combines recorders.
    static Recorder of(List<Recorder> recorders) {
        return recorders.stream()
                .filter(recorder -> !recorder.equals(NONE))
                .reduce(CompositeRecorder::new)
                .orElse(NONE);
    }

    /// Records for Java Flight Recorder, or nothing if the module is missing.
    ///
    /// A runtime image made by `jlink` may lack the module; then no class that needs it is loaded.
    static Recorder jfr(int rank) {
        return ModuleLayer.boot().findModule("jdk.jfr").isPresent() ? new JfrRecorder(rank) : NONE;
    }

    boolean isOn();

    /// This rank has submitted `op` on `tensor`.
    ///
    /// @param op in capitals, as in `ALLREDUCE`
    void submitted(int processSet, String tensor, String op);

    /// The coordinator has received the request of `rank`.
    void rankReady(int processSet, String tensor, int rank);

    /// All ranks have agreed on the operation. Locked plans need no negotiation.
    void negotiationEnded(int processSet, String tensor);

    /// The ranks disagree.
    void negotiationFailed(int processSet, String tensor, String reason);

    /// The collective starts.
    void started(Collective collective);

    /// An activity inside `collective`, between two values of [System#nanoTime].
    ///
    /// Activities of one collective are nested or disjoint.
    void activity(Collective collective, String name, long beginNanos, long endNanos);

    /// The collective has ended, perhaps with a failure. Called before its handles complete.
    void ended(Collective collective);

    /// A cycle of the coordinator begins.
    void cycle();

    /// This rank follows a plan from now on.
    ///
    /// @param batches of a step of the plan
    void planLocked(int processSet, long plan, int batches);

    /// This rank has left its plan.
    ///
    /// @param reason a sentence without a full stop
    void planLeft(int processSet, String reason);

    /// How many waits for other ranks have ended so far, by how they ended.
    void waits(int processSet, long spinning, long yielding, long sleeping);
}
