package org.horovod4j.runtime.cycle;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.horovod4j.ShutDownException;
import org.horovod4j.runtime.cycle.TensorQueue.Deviation;
import org.horovod4j.runtime.fusion.Plan;
import org.horovod4j.runtime.message.Request;
import org.horovod4j.runtime.message.TestRequests;
import org.horovod4j.runtime.queue.Operation;
import org.horovod4j.runtime.queue.TensorEntry;
import org.horovod4j.spi.CompositeCall;
import org.horovod4j.transport.CachedClock;
import org.horovod4j.transport.ManualClock;
import org.junit.jupiter.api.Test;

import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import java.util.stream.IntStream;
import java.util.stream.Stream;

class TensorQueueTest {
    private final ManualClock clock = new ManualClock();
    private final TensorQueue queue = new TensorQueue(new CachedClock(clock));
    private final Plan plan = new Plan(1, List.of(List.of(sum("a"), sum("b")), List.of(sum("c"))));

    private final TensorEntry.ProgressEngine progressEngine =
            new TensorEntry.ProgressEngine() {
                @Override
                public void await(TensorEntry<?> tensorEntry) {
                    throw new IllegalStateException("no thread drives here");
                }

                @Override
                public void polled(TensorEntry<?> tensorEntry) {}

                @Override
                public void completionObserved() {
                    queue.completionObserved();
                }

                @Override
                public void passLock() {
                    queue.passLock();
                }
            };

    private static Request sum(String name) {
        return TestRequests.sum(name, 3);
    }

    private TensorEntry<Integer> entry(String name) {
        return new TensorEntry<>(sum(name), new Operation.Barrier(), progressEngine);
    }

    private boolean submit(String name) {
        return queue.submit(entry(name));
    }

    private static List<String> names(List<TensorEntry<?>> entries) {
        return entries.stream().map(tensorEntry -> tensorEntry.request().name()).toList();
    }

    @Test
    void submittedEntriesAreDrainedOnce() {
        assertThat(submit("b")).isTrue();
        assertThat(submit("a")).isTrue();
        assertThat(queue.hasWork()).isTrue();
        assertThat(names(queue.drain())).containsExactly("b", "a");
        assertThat(queue.drain()).isEmpty();
        assertThat(queue.hasWork()).isTrue();
    }

    @Test
    void nameInFlightRejectsItsWholeGroup() {
        submit("a");
        assertThatThrownBy(() -> submit("a"))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("'a' is in flight");
        List<TensorEntry<Integer>> group = Stream.of("x", "a", "y").map(this::entry).toList();
        assertThatThrownBy(() -> queue.submit(group)).isInstanceOf(IllegalArgumentException.class);
        assertThat(names(queue.drain())).containsExactly("a");
        assertThat(queue.find("x")).isNull();
        List<TensorEntry<Integer>> twice = Stream.of("z", "z").map(this::entry).toList();
        assertThatThrownBy(() -> queue.submit(twice)).isInstanceOf(IllegalArgumentException.class);
        assertThat(queue.find("z")).isNull();
        queue.release(Objects.requireNonNull(queue.find("a")));
        assertThat(submit("a")).isTrue();
    }

    /// The table predicts the next name from the order of the last step.
    @Test
    void namesFindTheirEntriesInAnyOrder() {
        for (String order : List.of("abc", "abc", "cab", "bac", "ab", "xyz", "cba", "axb")) {
            List<TensorEntry<Integer>> entries =
                    order.chars().mapToObj(Character::toString).map(this::entry).toList();
            entries.forEach(each -> assertThat(queue.submit(each)).isTrue());
            entries.forEach(
                    each -> {
                        assertThat(queue.find(each.request().name())).isSameAs(each);
                        assertInFlight(each.request().name(), entry(each.request().name()));
                    });
            entries.forEach(queue::release);
            assertThat(queue.isEmpty()).isTrue();
        }
    }

    /// With more names than the table keeps, a name loses its slot after each operation.
    @Test
    void namesBeyondTheLimitOfTheTableAreFoundToo() {
        for (int step = 0; step < 3; step++) {
            List<TensorEntry<Integer>> entries =
                    IntStream.range(0, 20_000).mapToObj(i -> entry("name " + i)).toList();
            entries.forEach(queue::submit);
            assertThat(queue.find("name 0")).isSameAs(entries.getFirst());
            assertThat(queue.find("name 19999")).isSameAs(entries.getLast());
            assertThat(queue.pending()).hasSize(20_000);
            entries.forEach(queue::release);
            assertThat(queue.isEmpty()).isTrue();
        }
    }

    @Test
    void firstReasonToLeaveThePlanCounts() {
        queue.lockPlan(plan, 0);
        queue.deviate(Deviation.STUCK);
        queue.join(entry("last"));
        assertThat(queue.deviation()).isEqualTo(Deviation.STUCK);
    }

    @Test
    @SuppressWarnings("NullAway") // that is the test
    void anyFailureRejectsTheWholeGroup() {
        List<TensorEntry<Integer>> group = Arrays.asList(entry("x"), null);
        assertThatThrownBy(() -> queue.submit(group)).isInstanceOf(NullPointerException.class);
        assertThat(queue.find("x")).isNull();
        assertThat(queue.isEmpty()).isTrue();
    }

    @Test
    void secondBarrierIsRejectedWithoutAName() {
        TensorEntry<Boolean> barrier =
                new TensorEntry<>(Request.barrier(), new Operation.Barrier(), progressEngine);
        queue.submit(barrier);
        assertThatThrownBy(() -> queue.submit(barrier))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage("a barrier is in flight already: wait for it");
    }

    @Test
    void nameIsInFlightForOneCallOnly() {
        CompositeCall call = new CompositeCall("x", "sparseAllreduce", CompositeCall.NO_GROUP);
        TensorEntry<Integer> plain = entry("x");
        TensorEntry<Integer> first = part("x.terms", call);
        TensorEntry<Integer> second = part("x", call);
        queue.submit(plain);
        assertInFlight("x", first);
        queue.release(plain);
        queue.submit(first);
        queue.submit(second); // the same call
        queue.release(second);
        assertInFlight("x", entry("x"));
        assertInFlight(
                "x",
                part("x.size", new CompositeCall("x", "broadcastObject", CompositeCall.NO_GROUP)));
        assertInFlight(
                "x",
                part("x.rows", new CompositeCall("x", "sparseAllreduce", CompositeCall.NO_GROUP)));
        queue.release(first);
        assertThat(submit("x")).isTrue();
        assertThat(names(queue.pending())).containsExactly("x");
    }

    private TensorEntry<Integer> part(String name, CompositeCall call) {
        return new TensorEntry<>(
                TestRequests.within(call, sum(name)), new Operation.Barrier(), progressEngine);
    }

    private void assertInFlight(String name, TensorEntry<?> rejected) {
        assertThatThrownBy(() -> queue.submit(rejected))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("'" + name + "' is in flight already");
    }

    @Test
    void whatIsSubmittedAfterAResultWasSeenIsInAnotherSegment() {
        TensorEntry<Integer> first = entry("a");
        TensorEntry<Integer> second = entry("b");
        TensorEntry<Integer> third = entry("c");
        queue.submit(first);
        queue.submit(second);
        first.complete(1);
        assertThat(first.join()).isEqualTo(1);
        queue.submit(third);
        assertThat(second.segment()).isEqualTo(first.segment());
        assertThat(third.segment()).isGreaterThan(second.segment());
    }

    @Test
    void lockedPlanHasNoWorkUntilABatchIsFilled() {
        queue.lockPlan(plan, 0);
        TensorEntry<Integer> b = entry("b");
        assertThat(queue.submit(b)).isFalse();
        assertThat(queue.hasWork()).isFalse();
        assertThat(queue.isStuck(b)).isTrue();
        assertThat(queue.isStuck(entry("b"))).isFalse(); // not this one
        assertThat(submit("c")).isFalse();
        assertThat(submit("a")).isTrue();
        assertThat(queue.hasWork()).isTrue();
        assertThat(queue.drain()).isEmpty();
        assertThat(queue.isStuck(b)).isFalse();
        TensorEntry.signalEnds(queue.advance());
        assertThat(plan.isAtStart()).isFalse();
        assertThat(queue.find("a")).isNull();
        assertThat(b.hasEnded()).isTrue();
        assertThat(queue.isStuck(b)).isFalse();
        assertThat(queue.ready()).isNotNull();
        TensorEntry.signalEnds(queue.advance());
        assertThat(plan.isAtStart()).isTrue();
        assertThat(queue.isEmpty()).isTrue();
        assertThat(queue.deviation()).isEqualTo(Deviation.NONE);
    }

    @Test
    void oneThreadDrives() {
        assertThat(queue.submitAndTryDrive(entry("a"))).isTrue();
        assertThat(queue.isDriven()).isTrue();
        assertThat(queue.tryDrive()).isFalse();
        assertThat(queue.submitAndTryDrive(entry("b"))).isFalse();
        assertThat(names(queue.drain())).containsExactly("a", "b");
        queue.stopDriving();
        assertThat(queue.isDriven()).isFalse();
        assertThat(queue.tryDrive()).isTrue();
    }

    @Test
    void rejectedEntryDoesNotDrive() {
        submit("a");
        TensorEntry<Integer> again = entry("a");
        assertThatThrownBy(() -> queue.submitAndTryDrive(again)).hasMessageContaining("in flight");
        assertThat(queue.isDriven()).isFalse();
    }

    @Test
    void entryWithoutPlaceInThePlanIsADeviation() {
        queue.lockPlan(plan, 0);
        TensorEntry<Integer> stranger = entry("x");
        assertThat(queue.submit(stranger)).isTrue();
        assertThat(queue.deviation()).isEqualTo(Deviation.REQUESTED);
        assertThat(queue.hasWork()).isTrue();
        assertThat(queue.isStuck(stranger)).isFalse();
        queue.deviate(Deviation.STUCK); // the first reason stays
        assertThat(queue.deviation()).isEqualTo(Deviation.REQUESTED);
    }

    @Test
    void leavingAPlanKeepsTheOrderOfSubmission() {
        submit("c");
        submit("x");
        assertThat(names(queue.drain())).containsExactly("c", "x");
        submit("b");
        queue.lockPlan(plan, 0);
        assertThat(queue.deviation()).isEqualTo(Deviation.REQUESTED);
        submit("a");
        queue.unlockPlan();
        assertThat(queue.deviation()).isEqualTo(Deviation.NONE);
        assertThat(names(queue.drain())).containsExactly("c", "x", "b", "a");
        queue.deviate(Deviation.STUCK); // without a plan there is nothing to leave
        assertThat(queue.deviation()).isEqualTo(Deviation.NONE);
    }

    @Test
    void joinLeavesThePlanAndBlocksSubmission() {
        queue.lockPlan(plan, 0);
        TensorEntry<Integer> last = entry("join");
        queue.join(last);
        assertThat(queue.deviation()).isEqualTo(Deviation.REQUESTED);
        assertThat(queue.hasWork()).isTrue();
        assertThatThrownBy(() -> submit("a")).isInstanceOf(IllegalStateException.class);
        assertThatThrownBy(() -> queue.join(entry("again")))
                .isInstanceOf(IllegalStateException.class);
        queue.unlockPlan();
        queue.lockPlan(plan, 0); // locked before the coordinator received the join
        assertThat(queue.deviation()).isEqualTo(Deviation.REQUESTED);
        queue.joined(7);
        assertThat(last.join()).isEqualTo(7);
        assertThat(queue.joinOrFailStep()).isNull();
        queue.unlockPlan();
        assertThat(submit("a")).isTrue();
    }

    @Test
    void entriesRecordTheirSubmissionTime() {
        clock.advance(1_000);
        TensorEntry<?> first = entry("a");
        boolean _ = queue.submit(first);
        clock.advance(2_000);
        boolean _ = queue.pollForWork();
        List<? extends TensorEntry<?>> group = List.of(entry("b"), entry("c"));
        boolean _ = queue.submit(group);
        assertThat(first.submittedNanos()).isEqualTo(1_001);
        assertThat(group).allMatch(entry -> entry.submittedNanos() == 3_001);
    }

    @Test
    void firstGroupRecordsItsSubmissionTime() {
        clock.advance(1_000);
        List<? extends TensorEntry<?>> group = List.of(entry("a"), entry("b"));
        boolean _ = queue.submit(group);
        assertThat(group).allMatch(entry -> entry.submittedNanos() == 1_001);
    }

    @Test
    void closingFailsEverythingInFlightAndWhatComesLater() {
        TensorEntry<Integer> pending = entry("a");
        TensorEntry<Integer> last = entry("join");
        queue.submit(pending);
        queue.join(last);
        ShutDownException reason = new ShutDownException("over");
        queue.close(reason);
        queue.close(new ShutDownException("later"));
        assertThat(pending.failure()).containsSame(reason);
        assertThat(last.failure()).containsSame(reason);
        assertThatThrownBy(() -> submit("b"))
                .isInstanceOf(ShutDownException.class)
                .hasMessage("over");
        assertThatThrownBy(() -> queue.join(entry("join")))
                .isInstanceOf(ShutDownException.class)
                .hasMessage("over");
        assertThat(queue.hasWork()).isFalse();
    }
}
