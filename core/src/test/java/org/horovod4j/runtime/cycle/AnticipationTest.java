package org.horovod4j.runtime.cycle;

import static org.assertj.core.api.Assertions.assertThat;

import org.horovod4j.runtime.fusion.Batch;
import org.horovod4j.runtime.message.Requests;
import org.horovod4j.transport.ManualClock;
import org.junit.jupiter.api.Test;

import java.time.Duration;
import java.util.List;

class AnticipationTest {
    private static final Duration SOON = Duration.ofNanos(5_000);
    private static final Duration LATE = Duration.ofMillis(1);

    private final ManualClock clock = new ManualClock();
    private final Anticipation anticipation = new Anticipation(clock);
    private final Batch batch = new Batch(List.of(Requests.sum("a", 1)));
    private final Batch other = new Batch(List.of(Requests.sum("b", 1)));

    @Test
    void atFirstNobodyIsExpectedToWait() {
        assertThat(anticipation.isAwaited(batch)).isFalse();
    }

    @Test
    void whoWaitedSoonIsExpectedToDoSoAgain() {
        stepAwaitedAfter(SOON);
        assertThat(anticipation.isAwaited(batch)).isTrue();
    }

    @Test
    void whoWaitedLateIsNot() {
        stepAwaitedAfter(SOON);
        stepAwaitedAfter(LATE);
        assertThat(anticipation.isAwaited(batch)).isFalse();
    }

    @Test
    void whoHasNotComeWhenTheThreadLooksIsNotExpectedAgain() {
        stepAwaitedAfter(SOON);
        boolean _ = anticipation.isAwaited(batch);
        clock.advance(LATE.toNanos());
        anticipation.looks();
        assertThat(anticipation.isAwaited(batch)).isFalse();
    }

    @Test
    void aLookRightAfterTheLastTensorProvesNothing() {
        stepAwaitedAfter(SOON);
        boolean _ = anticipation.isAwaited(batch);
        anticipation.looks();
        anticipation.waits();
        assertThat(anticipation.isAwaited(batch)).isTrue();
    }

    @Test
    void whoSubmitsMoreDoesNotWait() {
        stepAwaitedAfter(SOON);
        assertThat(anticipation.isAwaited(batch)).isTrue();
        assertThat(anticipation.isAwaited(batch)).isFalse();
    }

    @Test
    void eachBatchHasItsOwnPast() {
        boolean _ = anticipation.isAwaited(batch);
        stepAwaitedAfter(other, SOON);
        assertThat(anticipation.isAwaited(batch)).isFalse();
        assertThat(anticipation.isAwaited(other)).isTrue();
    }

    private void stepAwaitedAfter(Duration time) {
        stepAwaitedAfter(batch, time);
    }

    private void stepAwaitedAfter(Batch which, Duration time) {
        boolean _ = anticipation.isAwaited(which);
        clock.advance(time.toNanos());
        anticipation.waits();
    }
}
