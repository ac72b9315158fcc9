package org.horovod4j.runtime.timeline;

import static org.assertj.core.api.Assertions.assertThat;
import static org.horovod4j.testsupport.ParsedTrace.arguments;
import static org.horovod4j.testsupport.ParsedTrace.number;

import org.horovod4j.testsupport.ParsedTrace;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import java.io.IOException;
import java.math.BigDecimal;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Random;

/// Calls the writer without its thread and with a manual clock.
final class TraceWriterTest {
    private static final int CAPACITY = 64;
    private static final long MICRO = 1000;
    private static final TraceOwner OWNER = new TraceOwner(0, "host-a", 0);

    @TempDir Path folder;

    private static final long START_NANOS = 5_000_000_000L;
    private final EventQueue queue = new EventQueue(CAPACITY, () -> {});
    private long now = START_NANOS;
    private Path file;
    private TraceWriter writer;

    @BeforeEach
    void open() throws IOException {
        open(Timeline.UNLIMITED);
    }

    private void open(long limit) throws IOException {
        file = folder.resolve("trace.json");
        writer = new TraceWriter(queue, TraceFile.open(file, limit), OWNER, () -> now);
    }

    private long later(long micros) {
        now += micros * MICRO;
        return now;
    }

    private void write(TimelineEvent... events) throws IOException {
        for (TimelineEvent timelineEvent : events) {
            queue.offer(timelineEvent);
        }
        writer.doWork();
    }

    private ParsedTrace closed() throws IOException {
        writer.close();
        ParsedTrace trace = ParsedTrace.of(file);
        trace.assertNested();
        return trace;
    }

    @Test
    void theFileIsCompleteAfterEveryEvent() throws IOException {
        Collective collective = SampleCollectives.allreduce("w");
        List<TimelineEvent> events =
                List.of(
                        new TimelineEvent.Submitted(0, "w", "ALLREDUCE", later(1)),
                        new TimelineEvent.RankReady(0, "w", 0, later(1)),
                        new TimelineEvent.NegotiationEnded(0, "w", later(1)),
                        new TimelineEvent.Started(collective, later(1)),
                        new TimelineEvent.Activity(collective, "SHM_ALLREDUCE", now, later(1)),
                        new TimelineEvent.Ended(collective, later(1)),
                        new TimelineEvent.Cycle(later(1)));
        assertThat(ParsedTrace.of(file).notices("process_name")).hasSize(1);
        long length = Files.size(file);
        for (TimelineEvent timelineEvent : events) {
            write(timelineEvent);
            assertThat(ParsedTrace.of(file).events()).isNotEmpty();
        }
        assertThat(Files.size(file)).isGreaterThan(length);
        closed();
    }

    @Test
    void aNameInTwoProcessSetsHasTwoRows() throws IOException {
        Collective all = SampleCollectives.allreduce("w");
        Collective some =
                new Collective(
                        "BROADCAST", 3, all.tensors(), all.dataType(), all.shapes(), 24, false);
        write(
                new TimelineEvent.Submitted(0, "w", "ALLREDUCE", later(1)),
                new TimelineEvent.Submitted(3, "w", "BROADCAST", later(1)),
                new TimelineEvent.Started(all, later(1)),
                new TimelineEvent.Started(some, later(1)),
                new TimelineEvent.Activity(some, "TCP_ALLREDUCE", now, later(1)),
                new TimelineEvent.Ended(some, later(1)),
                new TimelineEvent.Ended(all, later(1)));
        ParsedTrace trace = closed();
        assertThat(trace.on("w", "X")).containsExactly("NEGOTIATE_ALLREDUCE", "ALLREDUCE");
        assertThat(trace.on("w (process set 3)", "X"))
                .containsExactly("NEGOTIATE_BROADCAST", "BROADCAST");
        assertThat(trace.on("process set 0", "X")).containsExactly("ALLREDUCE");
        assertThat(trace.on("process set 3", "X")).containsExactly("BROADCAST", "TCP_ALLREDUCE");
    }

    @Test
    void aTensorNegotiatesQueuesAndRuns() throws IOException {
        Collective collective = SampleCollectives.allreduce("w");
        write(
                new TimelineEvent.Submitted(0, "w", "ALLREDUCE", later(10)),
                new TimelineEvent.RankReady(0, "w", 0, later(1)),
                new TimelineEvent.RankReady(0, "w", 1, later(4)),
                new TimelineEvent.NegotiationEnded(0, "w", later(5)),
                new TimelineEvent.Started(collective, later(7)),
                new TimelineEvent.Activity(collective, "SHM_ALLREDUCE", now, later(2)),
                new TimelineEvent.Activity(collective, "TCP_ALLREDUCE", now, later(3)),
                new TimelineEvent.Ended(collective, later(0)));
        ParsedTrace trace = closed();
        assertThat(trace.on("w", "X"))
                .containsExactly("NEGOTIATE_ALLREDUCE", "0", "1", "QUEUE", "ALLREDUCE");
        assertTimes(trace.only("w", "NEGOTIATE_ALLREDUCE"), 10, 10);
        assertTimes(trace.only("w", "1"), 15, 0);
        assertTimes(trace.only("w", "QUEUE"), 20, 7);
        assertTimes(trace.only("w", "ALLREDUCE"), 27, 5);
        assertThat(arguments(trace.only("w", "ALLREDUCE")))
                .containsEntry("dtype", "float32")
                .containsEntry("shape", "[2, 3]");
        assertThat(trace.on("process set 0", "X"))
                .containsExactly("ALLREDUCE", "SHM_ALLREDUCE", "TCP_ALLREDUCE");
        assertTimes(trace.only("process set 0", "TCP_ALLREDUCE"), 29, 3);
        assertThat(arguments(trace.only("process set 0", "ALLREDUCE")))
                .containsEntry("first", "w")
                .containsEntry("bytes", BigDecimal.valueOf(24))
                .containsEntry("locked", false);
    }

    private static void assertTimes(
            java.util.Map<String, Object> event, long beginMicros, long micros) {
        assertThat(number(event, "ts"))
                .as("begin of %s", event)
                .isEqualByComparingTo("" + (START_NANOS / MICRO + beginMicros));
        assertThat(number(event, "dur"))
                .as("length of %s", event)
                .isEqualByComparingTo("" + micros);
    }

    @Test
    void timesAreKeptToAnEighthOfAMicrosecond() throws IOException {
        now += 1_387;
        write(new TimelineEvent.RankReady(0, "w", 0, now));
        assertThat(number(closed().only("w", "0"), "ts")).isEqualByComparingTo("5000001.375");
    }

    @Test
    void lockedPlanTensorWaitsForItsBatch() throws IOException {
        Collective both = SampleCollectives.lockedAllreduce("a", "b");
        write(
                new TimelineEvent.Submitted(0, "a", "ALLREDUCE", later(1)),
                new TimelineEvent.Submitted(0, "b", "ALLREDUCE", later(5)),
                new TimelineEvent.Started(both, later(1)),
                new TimelineEvent.Ended(both, later(3)));
        ParsedTrace trace = closed();
        assertThat(trace.on("a", "X")).containsExactly("WAIT_FOR_OTHER_TENSOR_DATA", "ALLREDUCE");
        assertTimes(trace.only("a", "WAIT_FOR_OTHER_TENSOR_DATA"), 1, 6);
        assertTimes(trace.only("b", "WAIT_FOR_OTHER_TENSOR_DATA"), 6, 1);
        assertThat(trace.on("process set 0", "X")).containsExactly("ALLREDUCE");
    }

    @Test
    void theNegotiationBeginsWithTheFirstRankThatIsReady() throws IOException {
        write(
                new TimelineEvent.RankReady(0, "w", 1, later(1)),
                new TimelineEvent.Submitted(0, "w", "ALLREDUCE", later(9)),
                new TimelineEvent.RankReady(0, "w", 0, now),
                new TimelineEvent.NegotiationEnded(0, "w", later(1)));
        assertTimes(closed().only("w", "NEGOTIATE_ALLREDUCE"), 1, 10);
    }

    @Test
    void aRankMayAskForTheNextOperationWhileThisOneRuns() throws IOException {
        Collective collective = SampleCollectives.allreduce("w");
        write(
                new TimelineEvent.Started(collective, later(1)),
                new TimelineEvent.RankReady(0, "w", 1, later(2)),
                new TimelineEvent.Ended(collective, later(2)),
                new TimelineEvent.Submitted(0, "w", "ALLREDUCE", later(3)),
                new TimelineEvent.NegotiationEnded(0, "w", later(1)));
        ParsedTrace trace = closed();
        assertThat(trace.on("w", "X"))
                .containsExactly("ALLREDUCE", "NEGOTIATE_ALLREDUCE", "1", "QUEUE");
        assertTimes(trace.only("w", "NEGOTIATE_ALLREDUCE"), 5, 4);
    }

    @Test
    void failedNegotiationShowsTheReason() throws IOException {
        write(
                new TimelineEvent.Submitted(0, "w", "ALLREDUCE", later(1)),
                new TimelineEvent.NegotiationFailed(0, "w", "shapes \"differ\"", later(2)),
                new TimelineEvent.Submitted(0, "w", "ALLGATHER", later(3)),
                new TimelineEvent.NegotiationEnded(0, "w", later(4)));
        ParsedTrace trace = closed();
        assertThat(arguments(trace.only("w", "NEGOTIATE_ALLREDUCE")))
                .containsEntry("error", "shapes \"differ\"");
        assertTimes(trace.only("w", "NEGOTIATE_ALLGATHER"), 6, 4);
    }

    @Test
    void hangingOperationIsVisibleBeforeTheFileIsClosed() throws IOException {
        write(new TimelineEvent.Submitted(0, "w", "ALLREDUCE", now));
        now += TraceWriter.LONG_SLICE.toNanos() + 1;
        writer.doWork();
        assertThat(ParsedTrace.of(file).on("w", "B")).containsExactly("NEGOTIATE_ALLREDUCE");

        write(new TimelineEvent.NegotiationEnded(0, "w", later(1)));
        ParsedTrace trace = closed();
        assertThat(trace.eventsOn("w", "E")).hasSize(1);
        assertThat(trace.on("w", "X")).containsExactly("QUEUE");
    }

    @Test
    void openSlicesEndWithTheFile() throws IOException {
        write(
                new TimelineEvent.Submitted(0, "w", "ALLREDUCE", later(1)),
                new TimelineEvent.Started(SampleCollectives.allreduce("v"), later(1)));
        later(5);
        ParsedTrace trace = closed();
        assertTimes(trace.only("w", "NEGOTIATE_ALLREDUCE"), 1, 6);
        assertThat(arguments(trace.only("v", "ALLREDUCE"))).containsEntry("unfinished", true);
    }

    @Test
    void overflowedEventsAreDroppedAndCounted() throws IOException {
        Collective lost = SampleCollectives.allreduce("w");
        queue.offer(new TimelineEvent.Started(lost, later(1)));
        for (int i = 1; i < CAPACITY + 10; i++) {
            queue.offer(new TimelineEvent.RankReady(0, "other", 0, later(1)));
        }
        queue.offer(new TimelineEvent.Ended(lost, later(1)));
        writer.doWork();

        Collective next = SampleCollectives.lockedAllreduce("w");
        write(
                new TimelineEvent.Submitted(0, "w", "ALLREDUCE", later(1)),
                new TimelineEvent.Started(next, later(1)),
                new TimelineEvent.Ended(next, later(1)));
        ParsedTrace trace = closed();
        assertThat(trace.on("w", "XB")).containsExactly("WAIT_FOR_OTHER_TENSOR_DATA", "ALLREDUCE");
        assertThat(trace.on("process set 0", "XB")).containsExactly("ALLREDUCE");
        assertThat(trace.notices("EVENTS_LOST"))
                .singleElement()
                .satisfies(
                        notice ->
                                assertThat(arguments(notice))
                                        .containsEntry("events", BigDecimal.valueOf(11)));
    }

    @Test
    void numberOfTensorRowsIsLimited() throws IOException {
        for (int i = 0; i < TraceRows.MAX_TENSORS + 20; i++) {
            write(new TimelineEvent.Submitted(0, "allreduce." + i, "ALLREDUCE", later(1)));
        }
        Collective last = SampleCollectives.allreduce("allreduce." + (TraceRows.MAX_TENSORS + 19));
        write(new TimelineEvent.Started(last, later(1)), new TimelineEvent.Ended(last, later(1)));
        ParsedTrace trace = closed();
        assertThat(trace.notices("NO_MORE_ROWS")).hasSize(1);
        assertThat(trace.notices("thread_sort_index")).hasSize(2 + TraceRows.MAX_TENSORS);
        assertThat(trace.on("process set 0", "X")).containsExactly("ALLREDUCE");
    }

    @Test
    void fullFileIsMarkedAndStaysBelowTheLimit() throws IOException {
        writer.close();
        open(TraceFile.MIN_LIMIT);
        write(new TimelineEvent.Submitted(0, "slow", "ALLREDUCE", now));
        now += TraceWriter.LONG_SLICE.toNanos() + 1;
        for (int i = 0; !writer.isFull(); i++) {
            assertThat(i).isLessThan(10_000);
            write(new TimelineEvent.Cycle(later(1)));
            assertThat(Files.size(file)).isLessThanOrEqualTo(TraceFile.MIN_LIMIT);
        }
        ParsedTrace trace = closed();
        assertThat(Files.size(file)).isBetween(TraceFile.MIN_LIMIT * 3 / 4, TraceFile.MIN_LIMIT);
        assertThat(trace.eventsOn("slow", "E")).hasSize(1);
        assertThat(trace.notices("TIMELINE_FULL"))
                .singleElement()
                .satisfies(
                        notice ->
                                assertThat(arguments(notice))
                                        .containsEntry(
                                                "bytes", BigDecimal.valueOf(TraceFile.MIN_LIMIT)));
    }

    @ParameterizedTest(name = "seed {0}")
    @ValueSource(longs = {1, 2, 3, 4, 5, 6, 7, 8})
    void slicesNeverOverlapForAnyEventOrder(long seed) throws IOException {
        Random random = new Random(seed);
        for (int i = 0; i < 3000; i++) {
            write(randomEvent(random));
            later(random.nextInt(10) == 0 ? 400_000 : random.nextInt(3));
        }
        assertThat(closed().events()).hasSizeGreaterThan(1000);
    }

    private TimelineEvent randomEvent(Random random) {
        String tensor = "t" + random.nextInt(4);
        Collective collective =
                random.nextBoolean()
                        ? SampleCollectives.allreduce(tensor, "t0x")
                        : SampleCollectives.lockedAllreduce(tensor);
        // Threads read the clock before they record, so times may come in the wrong order.
        long nanos = now - random.nextInt(5) * MICRO;
        return switch (random.nextInt(8)) {
            case 0 -> new TimelineEvent.Submitted(0, tensor, "ALLREDUCE", nanos);
            case 1 -> new TimelineEvent.RankReady(0, tensor, random.nextInt(4), nanos);
            case 2 -> new TimelineEvent.NegotiationEnded(0, tensor, nanos);
            case 3 -> new TimelineEvent.NegotiationFailed(0, tensor, "no reason", nanos);
            case 4 -> new TimelineEvent.Started(collective, nanos);
            case 5 -> new TimelineEvent.Activity(collective, "SHM_ALLREDUCE", now, now);
            case 6 -> new TimelineEvent.Ended(collective, nanos);
            default -> new TimelineEvent.Cycle(nanos);
        };
    }
}
