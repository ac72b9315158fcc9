package org.horovod4j.runtime.timeline;

/// Records nothing.
final class NoopRecorder implements Recorder {
    @Override
    public boolean isOn() {
        return false;
    }

    @Override
    public void submitted(int processSet, String tensor, String op) {}

    @Override
    public void rankReady(int processSet, String tensor, int rank) {}

    @Override
    public void negotiationEnded(int processSet, String tensor) {}

    @Override
    public void negotiationFailed(int processSet, String tensor, String reason) {}

    @Override
    public void started(Collective collective) {}

    @Override
    public void activity(Collective collective, String name, long beginNanos, long endNanos) {}

    @Override
    public void ended(Collective collective) {}

    @Override
    public void cycle() {}

    @Override
    public void planLocked(int processSet, long plan, int batches) {}

    @Override
    public void planLeft(int processSet, String reason) {}

    @Override
    public void waits(int processSet, long spinning, long yielding, long sleeping) {}
}
