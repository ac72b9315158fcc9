package org.horovod4j.runtime.timeline;

import org.horovod4j.DataType;
import org.horovod4j.Shape;

import java.util.List;

/// Events as a runtime reports them.
final class SampleCollectives {
    private SampleCollectives() {}

    static Collective allreduce(String... tensors) {
        return allreduce(false, tensors);
    }

    static Collective lockedAllreduce(String... tensors) {
        return allreduce(true, tensors);
    }

    private static Collective allreduce(boolean locked, String... tensors) {
        List<String> names = List.of(tensors);
        List<Shape> shapes = names.stream().map(_ -> Shape.of(2, 3)).toList();
        long byteSize = 24L * tensors.length;
        return new Collective("ALLREDUCE", 0, names, DataType.FLOAT32, shapes, byteSize, locked);
    }

    /// An allreduce among two ranks, as the coordinator sees it.
    static void negotiateAndRun(Recorder recorder, String tensor) {
        recorder.submitted(0, tensor, "ALLREDUCE");
        recorder.rankReady(0, tensor, 0);
        recorder.rankReady(0, tensor, 1);
        recorder.negotiationEnded(0, tensor);
        run(recorder, allreduce(tensor));
    }

    static void run(Recorder recorder, Collective collective) {
        recorder.started(collective);
        recorder.ended(collective);
    }
}
