package org.horovod4j.runtime.timeline;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;
import static org.horovod4j.testsupport.ParsedTrace.arguments;
import static org.horovod4j.testsupport.ParsedTrace.number;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import org.horovod4j.ConfigurationException;
import org.horovod4j.testsupport.ParsedTrace;
import org.horovod4j.testsupport.Processes;
import org.horovod4j.testsupport.TestJvm;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

import java.io.IOException;
import java.math.BigDecimal;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

final class TimelineTest {
    @TempDir Path folder;

    private final Timeline timeline =
            new Timeline(new TraceOwner(0, "host-a", 0), Timeline.UNLIMITED);

    @AfterEach
    void close() {
        timeline.close();
    }

    @Test
    void aTraceHoldsNegotiationOperationCyclesAndItsStart() throws IOException {
        Path file = folder.resolve("trace.json");
        Instant before = Instant.now();
        timeline.start(file, true);
        timeline.cycle();
        SampleCollectives.negotiateAndRun(timeline, "layer1.weight");
        timeline.stop();

        ParsedTrace trace = ParsedTrace.of(file);
        trace.assertNested();
        assertThat(trace.on("layer1.weight", "X"))
                .contains("NEGOTIATE_ALLREDUCE", "0", "1", "ALLREDUCE");
        assertThat(trace.on("horovod4j", "i")).containsExactly("CYCLE_START");
        Map<String, Object> header = arguments(trace.events().getFirst());
        assertThat(number(header, "start_time_since_epoch_in_micros"))
                .isBetween(micros(before), micros(Instant.now().plusMillis(1)));
    }

    /// Viewers take the first of two slices that begin at the same time for the outer one.
    @Test
    void ticksOfRanksAreInsideTheirNegotiation() throws IOException {
        Path file = folder.resolve("trace.json");
        timeline.start(file, false);
        Collective collective = SampleCollectives.allreduce("w");
        timeline.submitted(0, "w", "ALLREDUCE");
        timeline.rankReady(0, "w", 0);
        timeline.rankReady(0, "w", 1);
        timeline.negotiationEnded(0, "w");
        timeline.started(collective);
        timeline.rankReady(0, "w", 1); // the next step of a rank that is faster
        timeline.ended(collective);
        timeline.submitted(0, "w", "ALLREDUCE");
        timeline.rankReady(0, "w", 0);
        timeline.negotiationEnded(0, "w");
        SampleCollectives.run(timeline, collective);
        timeline.stop();

        ParsedTrace trace = ParsedTrace.of(file);
        trace.assertNested();
        // A stable sort by time: the order of the file decides between equal times.
        assertThat(trace.on("w", "X"))
                .filteredOn(name -> !name.equals("QUEUE"))
                .containsExactly(
                        "NEGOTIATE_ALLREDUCE",
                        "0",
                        "1",
                        "ALLREDUCE",
                        "NEGOTIATE_ALLREDUCE",
                        "1",
                        "0",
                        "ALLREDUCE");
    }

    /// The start of its millisecond.
    private static BigDecimal micros(Instant instant) {
        return BigDecimal.valueOf(instant.toEpochMilli() * 1000);
    }

    @Test
    void cyclesAreMarkedOnlyIfAskedFor() throws IOException {
        Path file = folder.resolve("trace.json");
        timeline.start(file, false);
        timeline.cycle();
        timeline.stop();
        assertThat(ParsedTrace.of(file).notices("CYCLE_START")).isEmpty();
    }

    @Test
    void aFileCanBeReadWhileItIsWritten() {
        Path file = folder.resolve("trace.json");
        timeline.start(file, false);
        SampleCollectives.negotiateAndRun(timeline, "first");
        await().untilAsserted(
                        () ->
                                assertThat(ParsedTrace.of(file).on("first", "X"))
                                        .contains("ALLREDUCE"));
        SampleCollectives.negotiateAndRun(timeline, "second");
        await().untilAsserted(
                        () ->
                                assertThat(ParsedTrace.of(file).on("second", "X"))
                                        .contains("ALLREDUCE"));
        assertThat(timeline.isOn()).isTrue();
    }

    @Test
    void startStopStartGivesAFileEach() throws IOException {
        assertThat(timeline.isOn()).isFalse();
        timeline.stop();
        SampleCollectives.negotiateAndRun(timeline, "unseen");
        List<Path> files = new ArrayList<>();
        for (int i = 0; i < 3; i++) {
            Path file = folder.resolve("trace" + i + ".json");
            timeline.start(file, false);
            assertThat(timeline.isOn()).isTrue();
            SampleCollectives.negotiateAndRun(timeline, "tensor" + i);
            timeline.stop();
            assertThat(timeline.isOn()).isFalse();
            SampleCollectives.negotiateAndRun(timeline, "unseen");
            files.add(file);
        }
        for (int i = 0; i < 3; i++) {
            ParsedTrace trace = ParsedTrace.of(files.get(i));
            assertThat(trace.on("tensor" + i, "X")).contains("ALLREDUCE");
            assertThat(trace.on("unseen", "X")).isEmpty();
        }
    }

    @Test
    void startingAnotherFileEndsTheFirst() throws IOException {
        Path first = folder.resolve("first.json");
        Path second = folder.resolve("second.json");
        timeline.start(first, false);
        timeline.submitted(0, "w", "ALLREDUCE");
        timeline.start(second, false);
        ParsedTrace ended = ParsedTrace.of(first);
        assertThat(arguments(ended.only("w", "NEGOTIATE_ALLREDUCE")))
                .containsEntry("unfinished", true);
        timeline.negotiationEnded(0, "w");
        SampleCollectives.run(timeline, SampleCollectives.allreduce("w"));
        timeline.stop();
        assertThat(ParsedTrace.of(second).on("w", "X")).containsExactly("ALLREDUCE");
    }

    @Test
    void theSameFileMayBeStartedAgain() throws IOException {
        Path file = folder.resolve("trace.json");
        timeline.start(file, false);
        for (int i = 0; i < 100; i++) {
            SampleCollectives.negotiateAndRun(timeline, "old");
        }
        timeline.start(file, false);
        SampleCollectives.negotiateAndRun(timeline, "new");
        timeline.stop();
        assertThat(ParsedTrace.of(file).on("old", "X")).isEmpty();
        assertThat(ParsedTrace.of(file).on("new", "X")).contains("ALLREDUCE");
    }

    @Test
    void unwritableFileIsNamedAndTheOldRecordingContinues() throws IOException {
        Path good = folder.resolve("trace.json");
        timeline.start(good, false);
        Path missing = folder.resolve("missing");
        Path bad = missing.resolve("trace.json");
        assertThatThrownBy(() -> timeline.start(bad, false))
                .isInstanceOf(ConfigurationException.class)
                .hasMessageContaining(bad.toString())
                .hasMessageContaining("there is no folder " + missing);
        assertThatThrownBy(() -> timeline.start(folder, false))
                .isInstanceOf(ConfigurationException.class)
                .hasMessageContaining(folder.toString())
                .hasMessageContaining("it is a folder");
        SampleCollectives.negotiateAndRun(timeline, "w");
        timeline.stop();
        assertThat(ParsedTrace.of(good).on("w", "X")).contains("ALLREDUCE");
    }

    @Test
    void fullDiskFailsAtStart() {
        Path full = Path.of("/dev/full");
        assumeTrue(Files.isWritable(full), "a device that is always full");
        assertThatThrownBy(() -> timeline.start(full, false))
                .isInstanceOf(ConfigurationException.class)
                .hasMessageContaining("/dev/full");
        assertThat(timeline.isOn()).isFalse();
    }

    /// Records until recording fails, then prints that.
    static final class RecordUntilFailure {
        public static void main(String[] arguments) {
            Path file = Path.of(System.getProperty("file"));
            try (Timeline timeline = new Timeline(new TraceOwner(0, "h", 0), Timeline.UNLIMITED)) {
                timeline.start(file, false);
                while (timeline.isOn()) {
                    SampleCollectives.negotiateAndRun(timeline, "w");
                }
            }
            System.out.println("the program continues");
        }
    }

    @Test
    void fullDiskEndsTheRecordingButNotTheProgram() throws Exception {
        Path file = folder.resolve("trace.json");
        // A limit of 100 kB in some shells and 200 kB in others, for all files of this JVM.
        List<String> limit = List.of("sh", "-c", "ulimit -f 200; exec \"$0\" \"$@\"");
        String output =
                Processes.output(
                        TestJvm.of(RecordUntilFailure.class)
                                .onClassPathOf(Timeline.class, RecordUntilFailure.class)
                                .with("-Dfile=" + file)
                                .words(limit));
        assertThat(output.strip())
                .contains("timeline " + file + ": recording has ended")
                .endsWith("the program continues");
        assertThat(Files.size(file)).isGreaterThan(10_000);
        assertThat(ParsedTrace.of(file).on("w", "X")).contains("ALLREDUCE");
    }

    @Test
    void recordingStopsAtTheSizeLimit() throws IOException {
        Path file = folder.resolve("trace.json");
        try (Timeline small = new Timeline(new TraceOwner(2, "h", 0), TraceFile.MIN_LIMIT)) {
            small.start(file, false);
            await().until(
                            () -> {
                                for (int i = 0; i < 1000; i++) {
                                    SampleCollectives.negotiateAndRun(small, "w");
                                }
                                return !small.isOn();
                            });
            assertThat(Files.size(file)).isLessThanOrEqualTo(TraceFile.MIN_LIMIT);
            assertThat(ParsedTrace.of(file).notices("TIMELINE_FULL")).hasSize(1);

            small.start(folder.resolve("next.json"), false);
            assertThat(small.isOn()).isTrue();
        }
        assertThatThrownBy(() -> new Timeline(new TraceOwner(0, "h", 0), 100))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("allow at least");
    }

    @Test
    void interruptDoesNotTruncateTheFile() throws IOException {
        Path file = folder.resolve("trace.json");
        timeline.start(file, false);
        SampleCollectives.negotiateAndRun(timeline, "w");
        Thread.currentThread().interrupt();
        timeline.stop();
        assertThat(Thread.interrupted()).isTrue();
        assertThat(ParsedTrace.of(file).on("w", "X")).contains("ALLREDUCE");
    }

    @Test
    void manyThreadsRecordAtOnce() throws Exception {
        Path file = folder.resolve("trace.json");
        timeline.start(file, true);
        List<Thread> threads = new ArrayList<>();
        for (int t = 0; t < 4; t++) {
            String tensor = "t" + t;
            threads.add(
                    Thread.ofPlatform()
                            .start(
                                    () -> {
                                        for (int i = 0; i < 500; i++) {
                                            timeline.submitted(0, tensor, "ALLREDUCE");
                                            timeline.negotiationEnded(0, tensor);
                                            timeline.cycle();
                                        }
                                    }));
        }
        for (Thread thread : threads) {
            thread.join();
        }
        timeline.stop();
        ParsedTrace trace = ParsedTrace.of(file);
        trace.assertNested();
        assertThat(trace.notices("CYCLE_START")).hasSize(2000);
    }

    @Test
    void eachRankHasAFileOfItsOwn() {
        assertThat(Timeline.fileOfRank(Path.of("out/trace.json"), 3))
                .isEqualTo(Path.of("out/trace.rank3.json"));
        assertThat(Timeline.fileOfRank(Path.of("trace"), 0)).isEqualTo(Path.of("trace.rank0"));
        assertThat(Timeline.fileOfRank(Path.of(".trace"), 12)).isEqualTo(Path.of(".trace.rank12"));
        assertThat(Timeline.fileOfRank(Path.of("a.b/trace"), 1))
                .isEqualTo(Path.of("a.b/trace.rank1"));
    }
}
