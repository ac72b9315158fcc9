package org.horovod4j.process;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;
import static org.awaitility.Awaitility.await;
import static org.horovod4j.testsupport.ParsedTrace.arguments;
import static org.horovod4j.testsupport.ParsedTrace.number;

import jdk.jfr.consumer.RecordedEvent;
import jdk.jfr.consumer.RecordingFile;

import org.horovod4j.DataType;
import org.horovod4j.Hvd;
import org.horovod4j.ProcessSet;
import org.horovod4j.ReduceOp;
import org.horovod4j.Shape;
import org.horovod4j.Tensor;
import org.horovod4j.option.Options;
import org.horovod4j.option.RuntimeOptions;
import org.horovod4j.runtime.timeline.Timeline;
import org.horovod4j.testsupport.ParsedTrace;
import org.horovod4j.testsupport.SimulatedHost;
import org.horovod4j.testsupport.SlowCases;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

import java.math.BigDecimal;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.stream.IntStream;

/// The recordings of a job, for Perfetto and for JDK Mission Control.
class TimelineIT {
    private static final int STEPS = 10;

    @TempDir Path folder;

    private Path file(String name) {
        return folder.resolve(name + ".json");
    }

    private static void train(String tensor) {
        for (int step = 0; step < STEPS; step++) {
            Hvd.allreduce(tensor, new float[1_009], ReduceOp.SUM);
        }
    }

    /// Records into the file of the option, then into two others.
    static final class Worker {
        private Worker() {}

        public static void main(String[] args) {
            Hvd.init();
            train("gradient");
            Hvd.stopTimeline();
            train("unseen");
            for (String file : args) {
                Hvd.startTimeline(Path.of(file), false);
                train("of " + Path.of(file).getFileName());
            }
            Hvd.shutdown();
        }
    }

    @ParameterizedTest(name = "transport {0}")
    @ValueSource(strings = "auto")
    @SlowCases("tcp")
    void rankZeroWritesEachRequestedTimeline(String transport) throws Exception {
        Path flight = folder.resolve("rank1.jfr");
        TestJobPlan plan =
                TestJobPlan.of(2, Worker.class, file("second").toString(), file("third").toString())
                        .with(Options.TRANSPORT, transport)
                        .with(RuntimeOptions.TIMELINE, file("first").toString())
                        .with(RuntimeOptions.TIMELINE_MARK_CYCLES, "yes")
                        .withJvmOption(1, "-XX:StartFlightRecording:filename=" + flight);
        Instant begin = Instant.now();
        try (TestJob testJob = plan.start()) {
            testJob.awaitSuccess();
        }
        ParsedTrace first = ParsedTrace.of(file("first"));
        first.assertNested();
        assertThat(first.on("gradient", "XB")).contains("NEGOTIATE_ALLREDUCE", "ALLREDUCE");
        assertThat(first.on("unseen", "XB")).isEmpty();
        assertThat(first.notices("CYCLE_START")).isNotEmpty();
        BigDecimal epoch =
                number(arguments(first.events().getFirst()), "start_time_since_epoch_in_micros");
        assertThat(epoch.longValue() / 1_000)
                .isBetween(begin.toEpochMilli(), Instant.now().toEpochMilli());
        for (String name : List.of("second", "third")) {
            ParsedTrace trace = ParsedTrace.of(file(name));
            trace.assertNested();
            assertThat(trace.on("of " + name + ".json", "XB")).contains("ALLREDUCE");
            assertThat(trace.on("gradient", "XB")).isEmpty();
            assertThat(trace.notices("CYCLE_START")).isEmpty();
        }
        assertThat(Timeline.fileOfRank(file("first"), 1)).doesNotExist();
        assertFlightRecorded(flight);
    }

    /// Every collective is an event, also on a rank that writes no timeline.
    private static void assertFlightRecorded(Path flight) throws Exception {
        List<RecordedEvent> events = RecordingFile.readAllEvents(flight);
        assertThat(events)
                .filteredOn(
                        event -> event.getEventType().getName().equals("org.horovod4j.Collective"))
                .filteredOn(event -> event.getString("firstTensor").equals("gradient"))
                .hasSize(STEPS);
        assertThat(events)
                .extracting(event -> event.getEventType().getName())
                .contains("org.horovod4j.Negotiation", "org.horovod4j.Cycle");
    }

    /// Records into one file until a signal, then into another until it is killed.
    static final class AllRanks {
        private AllRanks() {}

        public static void main(String[] args) {
            Hvd.init();
            train("gradient");
            System.out.println("first");
            TestSignal.await();
            Hvd.stopTimeline();
            System.out.println("stopped");
            Hvd.barrier();
            Hvd.startTimeline(Path.of(args[0]), false);
            train("weights");
            System.out.println("second");
            CallResult.report("pending", () -> trainOn());
        }

        private static void trainOn() {
            while (true) {
                train("weights");
            }
        }
    }

    @Test
    void allRanksTimelineIsCompleteInAnyExitOrder() throws Exception {
        TestJobPlan plan =
                TestJobPlan.of(3, AllRanks.class, file("second").toString())
                        .with(RuntimeOptions.TIMELINE, file("first").toString())
                        .with(RuntimeOptions.TIMELINE_ALL_RANKS, "1");
        try (TestJob testJob = plan.start()) {
            testJob.awaitLine("first");
            for (int rank : new int[] {0, 2, 1}) {
                assertThat(file("first")).doesNotExist();
                testJob.rank(rank).sendSignal();
                testJob.rank(rank).awaitLine("stopped");
            }
            assertHasAll(3, ParsedTrace.of(file("first")), "gradient");

            testJob.awaitLine("second");
            Path ofVictim = Timeline.fileOfRank(file("second"), 1);
            await().atMost(TestJob.TIMEOUT)
                    .until(() -> Files.readString(ofVictim).contains("\"ALLREDUCE\""));
            testJob.rank(1).kill();
            testJob.awaitExits(testJob.ranks(), TestJob.TIMEOUT);
            assertHasAll(3, ParsedTrace.of(file("second")), "weights");
        }
    }

    @Test
    void clocksOfHostsAreAligned() throws Exception {
        Duration ahead = Duration.ofHours(1);
        Duration tolerance = Duration.ofMinutes(1); // the ranks of a busy machine start apart
        try (SimulatedHost alpha = new SimulatedHost();
                SimulatedHost beta = new SimulatedHost(ahead);
                TestJob testJob =
                        TestJobPlan.of(2, Worker.class)
                                .onHosts(alpha, beta)
                                .with(RuntimeOptions.TIMELINE, file("hosts").toString())
                                .with(RuntimeOptions.TIMELINE_ALL_RANKS, "1")
                                .start()) {
            testJob.awaitSuccess();
        }
        ParsedTrace other = ParsedTrace.of(Timeline.fileOfRank(file("hosts"), 1));
        BigDecimal offset = number(arguments(other.events().getFirst()), "clock_offset_nanos");
        assertThat(offset.longValue()).isCloseTo(-ahead.toNanos(), within(tolerance.toNanos()));
        ParsedTrace merged = ParsedTrace.of(file("hosts"));
        assertHasAll(2, merged, "gradient");
        List<Double> begins =
                IntStream.range(0, 2).mapToObj(rank -> firstMicros(merged, rank)).toList();
        assertThat(begins.get(0)).isCloseTo(begins.get(1), within(tolerance.toNanos() / 1e3));
    }

    /// The start time of the first allreduce of that rank.
    private static double firstMicros(ParsedTrace merged, int rank) {
        return merged.eventsOn("gradient", "XB")
                .filter(event -> "ALLREDUCE".equals(event.get("name")))
                .filter(event -> number(event, "pid").intValue() == rank + 1)
                .mapToDouble(event -> number(event, "ts").doubleValue())
                .findFirst()
                .orElseThrow();
    }

    /// Sums tensors that are small, large, in shared memory and in another process set, under one
    /// name.
    static final class Activities {
        private Activities() {}

        public static void main(String[] args) {
            Hvd.init();
            ProcessSet pair = Hvd.addProcessSet(0, 1);
            train("gradient");
            Hvd.allreduce("large", new float[1 << 18], ReduceOp.SUM);
            if (pair.isIncluded()) {
                pair.communicator().allreduce("gradient", new float[3], ReduceOp.AVERAGE);
            }
            Tensor shared = Hvd.allocate(DataType.FLOAT32, Shape.of(1 << 16));
            Hvd.allreduce("shared", shared, ReduceOp.SUM);
            Hvd.shutdown();
        }
    }

    /// Within a host tensors are packed, awaited, reduced and unpacked. Between hosts they are
    /// exchanged.
    @ParameterizedTest(name = "transport {0}: {1}")
    @CsvSource({"auto, SHM_ALLREDUCE", "tcp, TCP_ALLREDUCE"})
    void operationsShowTheirActivities(String transport, String reducing) throws Exception {
        TestJobPlan plan =
                TestJobPlan.of(3, Activities.class)
                        .with(Options.TRANSPORT, transport)
                        .with(RuntimeOptions.TIMELINE, file("activities").toString())
                        .with(RuntimeOptions.TIMELINE_ALL_RANKS, "1");
        try (TestJob testJob = plan.start()) {
            testJob.awaitSuccess();
        }
        ParsedTrace merged = ParsedTrace.of(file("activities"));
        assertHasAll(3, merged, "gradient");
        for (int rank = 0; rank < 3; rank++) {
            ParsedTrace own = ParsedTrace.of(Timeline.fileOfRank(file("activities"), rank));
            own.assertNested();
            assertThat(own.on("process set 0", "X"))
                    .contains(
                            "ALLREDUCE",
                            "MEMCPY_IN_FUSION_BUFFER",
                            reducing,
                            "MEMCPY_OUT_FUSION_BUFFER");
            assertThat(own.on("gradient (process set 1)", "X"))
                    .filteredOn("ALLREDUCE"::equals)
                    .hasSize(rank < 2 ? 1 : 0);
            assertThat(own.on("gradient", "X")).filteredOn("ALLREDUCE"::equals).hasSize(STEPS);
        }
    }

    private static void assertHasAll(int ranks, ParsedTrace merged, String tensor) {
        merged.assertNested();
        for (int rank = 0; rank < ranks; rank++) {
            int process = rank + 1;
            assertThat(merged.eventsOn(tensor, "XB"))
                    .filteredOn(event -> number(event, "pid").intValue() == process)
                    .as("events of rank %d", rank)
                    .extracting(event -> event.get("name"))
                    .contains("ALLREDUCE");
        }
    }
}
