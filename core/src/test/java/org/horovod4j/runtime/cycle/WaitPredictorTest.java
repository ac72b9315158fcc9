package org.horovod4j.runtime.cycle;

import static org.assertj.core.api.Assertions.assertThat;

import org.horovod4j.runtime.fusion.Batch;
import org.horovod4j.runtime.message.TestRequests;
import org.horovod4j.transport.ManualClock;
import org.junit.jupiter.api.Test;

import java.time.Duration;
import java.util.List;

class WaitPredictorTest {
    private static final Duration SOON = Duration.ofNanos(5_000);
    private static final Duration LATE = Duration.ofMillis(1);

    private final ManualClock clock = new ManualClock();
    private final WaitPredictor waitPredictor = new WaitPredictor(clock);
    private final Batch batch = new Batch(List.of(TestRequests.sum("a", 1)));
    private final Batch other = new Batch(List.of(TestRequests.sum("b", 1)));

    @Test
    void noWaitIsExpectedAtFirst() {
        assertThat(waitPredictor.expectsWait(batch)).isFalse();
    }

    @Test
    void promptWaitIsExpectedAgain() {
        stepAwaitedAfter(SOON);
        assertThat(waitPredictor.expectsWait(batch)).isTrue();
    }

    @Test
    void lateWaitIsNotExpectedAgain() {
        stepAwaitedAfter(SOON);
        stepAwaitedAfter(LATE);
        assertThat(waitPredictor.expectsWait(batch)).isFalse();
    }

    @Test
    void noWaitBeforeALatePollIsNotExpectedAgain() {
        stepAwaitedAfter(SOON);
        boolean _ = waitPredictor.expectsWait(batch);
        clock.advance(LATE.toNanos());
        waitPredictor.onPoll();
        assertThat(waitPredictor.expectsWait(batch)).isFalse();
    }

    @Test
    void earlyPollChangesNothing() {
        stepAwaitedAfter(SOON);
        boolean _ = waitPredictor.expectsWait(batch);
        waitPredictor.onPoll();
        waitPredictor.onWait();
        assertThat(waitPredictor.expectsWait(batch)).isTrue();
    }

    @Test
    void furtherSubmissionMeansNoWait() {
        stepAwaitedAfter(SOON);
        assertThat(waitPredictor.expectsWait(batch)).isTrue();
        assertThat(waitPredictor.expectsWait(batch)).isFalse();
    }

    @Test
    void eachBatchHasItsOwnHistory() {
        boolean _ = waitPredictor.expectsWait(batch);
        stepAwaitedAfter(other, SOON);
        assertThat(waitPredictor.expectsWait(batch)).isFalse();
        assertThat(waitPredictor.expectsWait(other)).isTrue();
    }

    private void stepAwaitedAfter(Duration time) {
        stepAwaitedAfter(batch, time);
    }

    private void stepAwaitedAfter(Batch which, Duration time) {
        boolean _ = waitPredictor.expectsWait(which);
        clock.advance(time.toNanos());
        waitPredictor.onWait();
    }
}
