package org.horovod4j.runtime.timeline;

import java.util.function.Consumer;

/// Passes on what it is told to each of two recorders that is on.
///
/// Two fields rather than a list: each call below then meets one class only, in practice, and is compiled
/// without a search for the method.
record TwoRecorders(Recorder first, Recorder second) implements Recorder {
    @Override
    public boolean isOn() {
        return first.isOn() || second.isOn();
    }

    @Override
    public void submitted(String tensor, String op) {
        tell(recorder -> recorder.submitted(tensor, op));
    }

    @Override
    public void reported(String tensor, int rank) {
        tell(recorder -> recorder.reported(tensor, rank));
    }

    @Override
    public void agreed(String tensor) {
        tell(recorder -> recorder.agreed(tensor));
    }

    @Override
    public void failed(String tensor, String reason) {
        tell(recorder -> recorder.failed(tensor, reason));
    }

    @Override
    public void began(Collective collective) {
        tell(recorder -> recorder.began(collective));
    }

    @Override
    public void activity(Collective collective, String name, long beginNanos, long endNanos) {
        tell(recorder -> recorder.activity(collective, name, beginNanos, endNanos));
    }

    @Override
    public void ended(Collective collective) {
        tell(recorder -> recorder.ended(collective));
    }

    @Override
    public void cycle() {
        tell(Recorder::cycle);
    }

    private void tell(Consumer<Recorder> what) {
        if (first.isOn()) {
            what.accept(first);
        }
        if (second.isOn()) {
            what.accept(second);
        }
    }
}
