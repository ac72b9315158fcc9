package org.horovod4j.runtime.timeline;

import static org.assertj.core.api.Assertions.assertThat;

import jdk.jfr.Recording;
import jdk.jfr.consumer.RecordedEvent;
import jdk.jfr.consumer.RecordingFile;

import org.horovod4j.testsupport.Processes;
import org.horovod4j.testsupport.TestJvm;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

import java.io.IOException;
import java.nio.file.Path;
import java.util.List;

final class JfrRecorderTest {
    @TempDir Path folder;

    private final Recorder recorder = Recorder.jfr(7);

    @Test
    void aFlightRecordingHoldsCollectivesNegotiationsAndCycles() throws IOException {
        Path file = folder.resolve("flight.jfr");
        try (Recording recording = new Recording()) {
            recording.start();
            assertThat(recorder.isOn()).isTrue();
            recorder.cycle();
            SampleCollectives.negotiateAndRun(recorder, "w");
            recorder.submitted(0, "a", "ALLREDUCE");
            recorder.submitted(0, "b", "ALLREDUCE");
            SampleCollectives.run(recorder, SampleCollectives.lockedAllreduce("a", "b"));
            recorder.submitted(0, "wrong", "BROADCAST");
            recorder.negotiationFailed(0, "wrong", "no such root");
            recording.stop();
            recording.dump(file);
        }
        List<RecordedEvent> events = RecordingFile.readAllEvents(file);

        List<RecordedEvent> collectives = named(events, "org.horovod4j.Collective");
        assertThat(collectives).hasSize(2);
        RecordedEvent fused = collectives.getLast();
        assertThat(fused.getInt("rank")).isEqualTo(7);
        assertThat(fused.getString("op")).isEqualTo("ALLREDUCE");
        assertThat(fused.getInt("tensors")).isEqualTo(2);
        assertThat(fused.getString("firstTensor")).isEqualTo("a");
        assertThat(fused.getLong("bytes")).isEqualTo(48);
        assertThat(fused.getInt("processSet")).isZero();
        assertThat(fused.getBoolean("locked")).isTrue();
        assertThat(fused.getDuration()).isPositive();
        assertThat(fused.getEventType().getCategoryNames()).containsExactly("Horovod4J");

        List<RecordedEvent> negotiations = named(events, "org.horovod4j.Negotiation");
        assertThat(negotiations)
                .extracting(event -> event.getString("tensor"))
                .containsExactlyInAnyOrder("w", "a", "b", "wrong");
        assertThat(negotiations)
                .filteredOn(event -> event.getString("tensor").equals("wrong"))
                .singleElement()
                .satisfies(event -> assertThat(event.getString("error")).isEqualTo("no such root"));
        assertThat(named(events, "org.horovod4j.Cycle")).hasSize(1);
    }

    @Test
    void aFlightRecordingHoldsPlansAndWaits() throws IOException {
        Path file = folder.resolve("flight.jfr");
        try (Recording recording = new Recording()) {
            recording.start();
            recorder.planLeft(2, "another rank left it");
            recorder.planLocked(0, 5, 3);
            recorder.planLeft(0, "the program joins");
            recorder.waits(0, 10, 20, 30);
            recording.stop();
            recording.dump(file);
        }
        List<RecordedEvent> events = RecordingFile.readAllEvents(file);
        List<RecordedEvent> plans = named(events, "org.horovod4j.Plan");
        assertThat(plans)
                .extracting(event -> event.getString("reason"))
                .containsExactlyInAnyOrder("another rank left it", "the program joins");
        assertThat(plans)
                .filteredOn(event -> event.getInt("processSet") == 0)
                .singleElement()
                .satisfies(
                        event -> {
                            assertThat(event.getInt("rank")).isEqualTo(7);
                            assertThat(event.getLong("plan")).isEqualTo(5);
                            assertThat(event.getInt("batches")).isEqualTo(3);
                            assertThat(event.getDuration()).isPositive();
                        });
        assertThat(named(events, "org.horovod4j.Waits"))
                .singleElement()
                .satisfies(
                        event -> {
                            assertThat(event.getLong("spinning")).isEqualTo(10);
                            assertThat(event.getLong("yielding")).isEqualTo(20);
                            assertThat(event.getLong("sleeping")).isEqualTo(30);
                        });
    }

    private static List<RecordedEvent> named(List<RecordedEvent> events, String name) {
        return events.stream()
                .filter(event -> event.getEventType().getName().equals(name))
                .toList();
    }

    @Test
    void isOnWhileARecordingEnablesItsEvents() {
        assertThat(recorder.isOn()).isFalse();
        try (Recording recording = new Recording()) {
            recording.disable("org.horovod4j.Collective");
            recording.disable("org.horovod4j.Negotiation");
            recording.disable("org.horovod4j.Cycle");
            recording.disable("org.horovod4j.Plan");
            recording.disable("org.horovod4j.Waits");
            recording.start();
            assertThat(recorder.isOn()).isFalse();
            recording.enable("org.horovod4j.Cycle");
            assertThat(recorder.isOn()).isTrue();
        }
        assertThat(recorder.isOn()).isFalse();
    }

    /// Prints what happens without the module of the flight recorder.
    static final class WithoutJfr {
        public static void main(String[] arguments) {
            System.out.println(Recorder.jfr(0).equals(Recorder.NONE) ? "none" : "some");
        }
    }

    @Test
    void withoutJfrModuleNothingIsRecorded() throws Exception {
        List<String> command =
                TestJvm.of(WithoutJfr.class)
                        .onClassPathOf(Recorder.class, WithoutJfr.class)
                        .with("--limit-modules", "java.base")
                        .words();
        assertThat(Processes.output(command).lines()).contains("none").doesNotContain("some");
    }
}
