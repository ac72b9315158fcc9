package org.horovod4j.runtime.timeline;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.horovod4j.DataType;
import org.horovod4j.Shape;
import org.horovod4j.testsupport.ParsedTrace;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

import java.io.IOException;
import java.nio.file.Path;
import java.util.List;

final class RecorderTest {
    @TempDir Path folder;

    @Test
    void noopRecorderIsNeverOn() {
        assertThat(Recorder.NONE.isOn()).isFalse();
        assertThat(Recorder.of(List.of())).isSameAs(Recorder.NONE);
        assertThat(Recorder.of(List.of(Recorder.NONE, Recorder.NONE))).isSameAs(Recorder.NONE);
    }

    @Test
    void singleRecorderIsReturnedAsIs() {
        try (Timeline timeline = timeline()) {
            assertThat(Recorder.of(List.of(Recorder.NONE, timeline))).isSameAs(timeline);
        }
    }

    @Test
    void compositeIsOnWhileAnyRecorderIs() throws IOException {
        Path file = folder.resolve("trace.json");
        try (Timeline first = timeline();
                Timeline second = timeline()) {
            Recorder both = Recorder.of(List.of(first, second));
            assertThat(both.isOn()).isFalse();
            second.start(file, true);
            assertThat(both.isOn()).isTrue();

            SampleCollectives.negotiateAndRun(both, "w");
            both.submitted(0, "wrong", "ALLREDUCE");
            both.negotiationFailed(0, "wrong", "why");
            Collective collective = SampleCollectives.allreduce("v");
            both.started(collective);
            both.activity(collective, "SHM_ALLREDUCE", System.nanoTime(), System.nanoTime());
            both.ended(collective);
            both.cycle();
            second.stop();
            assertThat(both.isOn()).isFalse();
        }
        ParsedTrace trace = ParsedTrace.of(file);
        assertThat(trace.on("w", "X")).contains("NEGOTIATE_ALLREDUCE", "0", "1", "ALLREDUCE");
        assertThat(ParsedTrace.arguments(trace.only("wrong", "NEGOTIATE_ALLREDUCE")))
                .containsEntry("error", "why");
        assertThat(trace.on("process set 0", "X")).contains("SHM_ALLREDUCE");
        assertThat(trace.notices("CYCLE_START")).hasSize(1);
    }

    @Test
    void aCollectiveHasAShapeForEachTensorOrNone() {
        List<String> tensors = List.of("a", "b");
        List<Shape> one = List.of(Shape.of(2));
        assertThatThrownBy(
                        () -> new Collective("ALLREDUCE", 0, tensors, DataType.INT8, one, 4, false))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("2 tensors, but 1 shapes");
        Collective barrier = new Collective("BARRIER", 0, tensors, null, List.of(), 0, false);
        assertThat(barrier.shapes()).isEmpty();
    }

    private static Timeline timeline() {
        return new Timeline(new TraceOwner(0, "host", 0), Timeline.UNLIMITED);
    }
}
