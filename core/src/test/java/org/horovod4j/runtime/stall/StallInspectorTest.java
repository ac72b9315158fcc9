package org.horovod4j.runtime.stall;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assertions.assertTimeoutPreemptively;

import org.horovod4j.option.StallSettings;
import org.horovod4j.rendezvous.LocalRendezvous;
import org.horovod4j.runtime.controller.WorldState;
import org.horovod4j.runtime.stall.RankReport.Pending;
import org.horovod4j.runtime.stall.RankReport.ProcessSetChanges;
import org.horovod4j.runtime.stall.RankReport.ProcessSetReport;
import org.horovod4j.runtime.stall.RankReport.Progress;
import org.horovod4j.spi.ControlPlane;
import org.horovod4j.spi.RankInfo;
import org.horovod4j.transport.CachedClock;
import org.horovod4j.transport.Clock;
import org.horovod4j.transport.ManualClock;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicLong;

/// The warnings of an inspector about three ranks whose reports and times the test sets.
final class StallInspectorTest {
    private static final int SIZE = 3;
    private static final List<Integer> ALL = List.of(0, 1, 2);
    private static final Duration WARNING = Duration.ofMinutes(1);
    private static final Duration SHUTDOWN = Duration.ofMinutes(2);
    private static final ProcessSetChanges NO_CHANGE = new ProcessSetChanges(0, null);

    private final List<RankReport> reports = new ArrayList<>();
    private final List<StallInspector> inspectors = new ArrayList<>();
    private final List<String> warnings = new ArrayList<>();
    private final List<String> shutdowns = new ArrayList<>();

    StallInspectorTest() throws Exception {
        LocalRendezvous rendezvous = new LocalRendezvous(SIZE);
        List<Future<?>> meeting = new ArrayList<>();
        try (ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor()) {
            for (int i = 0; i < SIZE; i++) {
                int rank = i;
                reports.add(computing(0));
                WorldState state = new WorldState();
                state.setReportSupplier(() -> reports.get(rank).encode());
                ControlPlane control = rendezvous.controlPlane(rank);
                RankInfo card = new RankInfo(rank, "host", "machine", "domain", 1, "", List.of());
                meeting.add(threads.submit(() -> control.join(card, state)));
                inspectors.add(
                        new StallInspector(
                                rank,
                                new StallSettings(WARNING, SHUTDOWN),
                                new CachedClock(new ManualClock()),
                                control,
                                () -> reports.get(rank),
                                warnings::add,
                                shutdowns::add));
            }
        }
        for (Future<?> each : meeting) {
            each.get();
        }
    }

    private void inspect() {
        inspectors.forEach(StallInspector::inspect);
    }

    /// The times of operations come from this clock, so it must not stand still while nothing waits.
    @Test
    void clockIsReadWhileNothingWaits() {
        AtomicLong now = new AtomicLong();
        CachedClock clock =
                new CachedClock(
                        new Clock() {
                            @Override
                            public long nanoTime() {
                                return now.get();
                            }

                            @Override
                            public void sleep(long nanos) {
                                now.addAndGet(nanos);
                            }
                        });
        try (StallInspector inspector =
                new StallInspector(
                        0,
                        new StallSettings(Duration.ofMillis(60), SHUTDOWN),
                        clock,
                        new LocalRendezvous(1).controlPlane(0),
                        () -> computing(0),
                        warnings::add,
                        shutdowns::add)) {
            inspector.start();
            for (long time : List.of(1_000L, 2_000L)) { // not only when it starts
                now.set(time);
                assertTimeoutPreemptively(
                        Duration.ofMinutes(1),
                        () -> {
                            while (clock.cachedNanos() != time) {
                                Thread.onSpinWait();
                            }
                        });
            }
        }
        assertThat(warnings).isEmpty();
    }

    private static Pending since(String what, long seconds) {
        return new Pending(what, what, seconds * 1_000);
    }

    private static ProcessSetReport set(
            int id, long completed, long idle, @Nullable Pending join, Pending... pending) {
        Progress progress = new Progress(completed, idle * 1_000);
        return ProcessSetReport.of(id, ALL, "negotiating", "", progress, join, List.of(pending));
    }

    private static RankReport in(ProcessSetReport... sets) {
        return new RankReport(0, List.of(sets), NO_CHANGE);
    }

    /// Nothing in flight, and idle for this time.
    private static RankReport computing(long seconds) {
        return in(set(0, 7, seconds, null));
    }

    private static RankReport joined(long seconds, long completed, long idle) {
        return in(set(0, completed, idle, since("join", seconds)));
    }

    private static RankReport changing(long number, @Nullable Pending now) {
        return new RankReport(0, List.of(set(0, 7, 90, null)), new ProcessSetChanges(number, now));
    }

    @Test
    void aJoinIsReportedWhenTheOthersAreIdle() {
        reports.set(0, joined(70, 7, 61));
        reports.set(1, joined(65, 7, 61));
        reports.set(2, computing(61));
        inspect();
        inspect();
        assertThat(warnings)
                .singleElement()
                .asString()
                .contains("join has waited for 61 s, in which no rank did anything")
                .contains("called on ranks 0, 1, missing on rank 2")
                .contains("rank 2 has nothing in flight: its program is doing something else");
        assertThat(shutdowns).isEmpty();
    }

    /// Also while the other ranks compute: they have to call it soon.
    @Test
    void aFailedStepThatDoesNotEndIsReportedInItsOwnWords() {
        reports.set(0, in(set(0, 7, 90, since("failStep", 61))));
        reports.set(1, computing(1));
        reports.set(2, in(set(0, 7, 90, since("failStep", 30))));
        inspect();
        inspect();
        assertThat(warnings)
                .singleElement()
                .asString()
                .contains(
                        "a failed step has not ended for 61 s: failStep called on ranks 0, 2, missing on rank 1")
                .doesNotContain("join");
    }

    @Test
    void threadsOfMissingRankAreShown() {
        ProgramThread thread =
                new ProgramThread(
                        "main", "RUNNABLE", List.of("at com.example.Data.read(Data.java:7)"));
        reports.set(0, joined(70, 7, 61));
        reports.set(1, joined(65, 7, 61));
        reports.set(2, computing(61).with(List.of(thread)));
        inspect();
        assertThat(warnings)
                .singleElement()
                .asString()
                .contains(
                        """
                          rank 2 has nothing in flight: its program is doing something else
                            thread main, RUNNABLE
                              at com.example.Data.read(Data.java:7)
                        """);
    }

    @Test
    void joinIsNoStallWhileOtherRanksTrain() {
        for (int step = 0; step < 10; step++) {
            reports.set(0, joined(600 + step, 7 + step, 3)); // it takes part in each of their steps
            reports.set(1, joined(600 + step, 7 + step, 3));
            inspect();
        }
        assertThat(warnings).isEmpty();
        assertThat(shutdowns).isEmpty();
    }

    @Test
    void joinIsNoStallWhileAnOperationIsInFlight() {
        reports.set(0, joined(200, 7, 200));
        reports.set(1, in(set(0, 7, 200, null, since("long", 20))));
        reports.set(2, in(set(0, 7, 200, null, since("long", 20))));
        inspect();
        assertThat(warnings).isEmpty();
        assertThat(shutdowns).isEmpty();
        reports.set(1, computing(200));
        reports.set(2, computing(200));
        inspect();
        assertThat(shutdowns).singleElement().asString().contains("missing on ranks 1, 2");
    }

    @Test
    void ranksActiveInAnotherProcessSetAreNotIdle() {
        reports.set(0, joined(100, 7, 100));
        reports.set(1, joined(100, 7, 100));
        reports.set(2, in(set(0, 7, 100, null), set(1, 9, 30, null)));
        inspect();
        assertThat(warnings).isEmpty();
    }

    @Test
    void joinIsReportedAgainAfterProgress() {
        reports.set(0, joined(70, 7, 61));
        reports.set(1, computing(61));
        reports.set(2, computing(61));
        inspect();
        reports.set(0, joined(190, 9, 61));
        inspect();
        assertThat(warnings).hasSize(2);
    }

    @Test
    void stalledJoinShutsTheJobDownAfterTheTimeout() {
        reports.set(0, computing(121));
        reports.set(1, joined(130, 7, 121));
        reports.set(2, computing(121));
        inspect();
        assertThat(shutdowns)
                .singleElement()
                .asString()
                .contains("HOROVOD_STALL_SHUTDOWN_TIME_SECONDS=120", "join has waited for 121 s")
                .contains("called on rank 1, missing on ranks 0, 2");
    }

    @Test
    void stalledProcessSetChangeNamesMissingRanks() {
        reports.set(0, changing(3, since("adding process sets [[0, 1]]", 62)));
        reports.set(1, in(set(0, 7, 90, null), set(1, 3, 90, null, since("allreduce of 'a'", 5))));
        reports.set(2, changing(3, since("adding process sets [[0, 1]]", 30)));
        inspect();
        assertThat(warnings)
                .singleElement()
                .asString()
                .contains("adding process sets [[0, 1]] has waited for 62 s")
                .contains("called on ranks 0, 2, missing on rank 1")
                .contains("rank 1 has in flight allreduce of 'a' (5.0 s), in process set 1");
    }

    @Test
    void ranksPastAProcessSetChangeAreNotMissing() {
        reports.set(0, changing(3, since("removing process set 1", 300)));
        reports.set(1, changing(3, null));
        reports.set(2, changing(4, since("adding process sets [[0]]", 1)));
        inspect();
        assertThat(warnings).isEmpty();
        assertThat(shutdowns).isEmpty();
    }

    @Test
    void reportSaysWhatMissingRanksAreDoing() {
        reports.set(0, in(set(0, 7, 90, null, since("allreduce of 'a'", 90))));
        reports.set(1, joined(90, 7, 90));
        reports.set(2, changing(1, since("adding process sets [[0, 2]]", 80)));
        inspect();
        assertThat(warnings)
                .hasSize(2)
                .anySatisfy(
                        story ->
                                assertThat(story)
                                        .contains("submitted on rank 0, missing on rank 2")
                                        .contains(
                                                "rank 2 is adding process sets [[0, 2]] (80.0 s)"))
                .anySatisfy(
                        story ->
                                assertThat(story)
                                        .contains("called on rank 2, missing on ranks 0, 1")
                                        .contains("rank 1 has joined (90.0 s)"));
    }
}
