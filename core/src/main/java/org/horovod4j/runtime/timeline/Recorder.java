package org.horovod4j.runtime.timeline;

import java.util.List;

/// Is told what the runtime does, from any thread, in the order in which it happens.
///
/// Callers ask [#isOn] before they make a [Collective] or call anything else, so that recording
/// costs one read of memory while nobody records. No method waits or throws.
public interface Recorder {
    /// Records nothing, ever.
    Recorder NONE = new NoopRecorder();

    /// All of `recorders` as one.
    static Recorder of(List<Recorder> recorders) {
        return recorders.stream()
                .filter(recorder -> !recorder.equals(NONE))
                .reduce(CompositeRecorder::new)
                .orElse(NONE);
    }

    /// Records for Java Flight Recorder, or not at all in a Java without it.
    ///
    /// A runtime made by `jlink` may lack the module; then no class that needs it is even loaded.
    static Recorder jfr(int rank) {
        return ModuleLayer.boot().findModule("jdk.jfr").isPresent() ? new JfrRecorder(rank) : NONE;
    }

    boolean isOn();

    /// This rank has asked for `op` on `tensor`; the others may or may not have.
    ///
    /// @param op in capitals, as in `ALLREDUCE`
    void submitted(int processSet, String tensor, String op);

    /// The request of `rank` has reached the coordinator, which alone says this.
    void rankReady(int processSet, String tensor, int rank);

    /// All ranks want the same: the negotiation is over. Locked plans go without.
    void negotiationEnded(int processSet, String tensor);

    /// The negotiation ended with an error.
    void negotiationFailed(int processSet, String tensor, String reason);

    /// The operation runs from now on.
    void started(Collective collective);

    /// Something that was done inside `collective`, between two readings of [System#nanoTime].
    ///
    /// Activities of one collective lie inside each other or beside each other; they do not overlap
    /// halfway.
    void activity(Collective collective, String name, long beginNanos, long endNanos);

    /// The operation is over, even if it failed. To be said before its handles are done.
    void ended(Collective collective);

    /// A cycle of the coordinator begins.
    void cycle();
}
