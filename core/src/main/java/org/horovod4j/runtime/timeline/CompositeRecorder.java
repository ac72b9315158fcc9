package org.horovod4j.runtime.timeline;

/// Passes events to each of two recorders that is on.
///
/// Two fields rather than a list: each call then has one receiver class in practice, and is
/// inlined. One method for all events would need an object per call.
record CompositeRecorder(Recorder first, Recorder second) implements Recorder {
    @Override
    public boolean isOn() {
        return first.isOn() || second.isOn();
    }

    @Override
    public void submitted(int processSet, String tensor, String op) {
        if (first.isOn()) {
            first.submitted(processSet, tensor, op);
        }
        if (second.isOn()) {
            second.submitted(processSet, tensor, op);
        }
    }

    @Override
    public void rankReady(int processSet, String tensor, int rank) {
        if (first.isOn()) {
            first.rankReady(processSet, tensor, rank);
        }
        if (second.isOn()) {
            second.rankReady(processSet, tensor, rank);
        }
    }

    @Override
    public void negotiationEnded(int processSet, String tensor) {
        if (first.isOn()) {
            first.negotiationEnded(processSet, tensor);
        }
        if (second.isOn()) {
            second.negotiationEnded(processSet, tensor);
        }
    }

    @Override
    public void negotiationFailed(int processSet, String tensor, String reason) {
        if (first.isOn()) {
            first.negotiationFailed(processSet, tensor, reason);
        }
        if (second.isOn()) {
            second.negotiationFailed(processSet, tensor, reason);
        }
    }

    @Override
    public void started(Collective collective) {
        if (first.isOn()) {
            first.started(collective);
        }
        if (second.isOn()) {
            second.started(collective);
        }
    }

    @Override
    public void activity(Collective collective, String name, long beginNanos, long endNanos) {
        if (first.isOn()) {
            first.activity(collective, name, beginNanos, endNanos);
        }
        if (second.isOn()) {
            second.activity(collective, name, beginNanos, endNanos);
        }
    }

    @Override
    public void ended(Collective collective) {
        if (first.isOn()) {
            first.ended(collective);
        }
        if (second.isOn()) {
            second.ended(collective);
        }
    }

    @Override
    public void cycle() {
        if (first.isOn()) {
            first.cycle();
        }
        if (second.isOn()) {
            second.cycle();
        }
    }

    @Override
    public void planLocked(int processSet, long plan, int batches) {
        if (first.isOn()) {
            first.planLocked(processSet, plan, batches);
        }
        if (second.isOn()) {
            second.planLocked(processSet, plan, batches);
        }
    }

    @Override
    public void planLeft(int processSet, String reason) {
        if (first.isOn()) {
            first.planLeft(processSet, reason);
        }
        if (second.isOn()) {
            second.planLeft(processSet, reason);
        }
    }

    @Override
    public void waits(int processSet, long spinning, long yielding, long sleeping) {
        if (first.isOn()) {
            first.waits(processSet, spinning, yielding, sleeping);
        }
        if (second.isOn()) {
            second.waits(processSet, spinning, yielding, sleeping);
        }
    }
}
