package org.horovod4j.runtime.timeline;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;

final class EventQueueTest {
    private final AtomicInteger hurried = new AtomicInteger();
    private final EventQueue queue = new EventQueue(4, hurried::incrementAndGet);

    @Test
    void eventsKeepOrderAndHalfFullQueueWakesTheWriterOnce() {
        offer(1, 2);
        assertThat(hurried).hasValue(0);
        offer(3, 4);
        assertThat(hurried).hasValue(1);
        assertThat(poll(4)).containsExactly(1L, 2L, 3L, 4L);
        assertThat(queue.poll()).isNull();
        assertThat(queue.isOverflowed()).isFalse();
    }

    @Test
    void fullQueueDropsEventsUntilOverflowIsCleared() {
        offer(1, 2, 3, 4, 5);
        assertThat(queue.isOverflowed()).isTrue();
        assertThat(poll(2)).containsExactly(1L, 2L);
        offer(6, 7);
        assertThat(poll(2)).containsExactly(3L, 4L);
        assertThat(queue.poll()).isNull();
        assertThat(queue.clearOverflow()).isEqualTo(3);
        offer(8);
        assertThat(poll(1)).containsExactly(8L);
        assertThat(queue.clearOverflow()).isZero();
    }

    @Test
    void manyThreadsOfferWhileOneTakes() throws InterruptedException {
        int each = 100_000;
        EventQueue shared = new EventQueue(1 << 10, () -> {});
        List<Thread> threads = new ArrayList<>();
        for (int t = 0; t < 3; t++) {
            int number = t;
            threads.add(
                    Thread.ofPlatform()
                            .start(
                                    () -> {
                                        for (int i = 0; i < each; i++) {
                                            shared.offer(
                                                    new TimelineEvent.RankReady(0, "w", number, i));
                                        }
                                    }));
        }
        long[] last = {-1, -1, -1};
        long taken = 0;
        long lost = 0;
        while (taken + lost < 3L * each) {
            if (shared.poll() instanceof TimelineEvent.RankReady(_, _, int thread, long nanos)) {
                assertThat(nanos).isGreaterThan(last[thread]);
                last[thread] = nanos;
                taken++;
            } else {
                lost += shared.clearOverflow();
            }
        }
        for (Thread thread : threads) {
            thread.join();
        }
        assertThat(shared.poll()).isNull();
        assertThat(taken).isPositive();
    }

    private void offer(long... nanos) {
        for (long time : nanos) {
            queue.offer(new TimelineEvent.Cycle(time));
        }
    }

    private List<Long> poll(int count) {
        List<Long> times = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            if (queue.poll() instanceof TimelineEvent.Cycle(long nanos)) {
                times.add(nanos);
            }
        }
        return times;
    }
}
