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
    void eventsComeInOrderAndTheWriterIsHurriedOnceWhenHalfIsTaken() {
        offer(1, 2);
        assertThat(hurried).hasValue(0);
        offer(3, 4);
        assertThat(hurried).hasValue(1);
        assertThat(poll(4)).containsExactly(1L, 2L, 3L, 4L);
        assertThat(queue.poll()).isNull();
        assertThat(queue.isShut()).isFalse();
    }

    @Test
    void aFullQueueStaysShutUntilItIsOpenedAgain() {
        offer(1, 2, 3, 4, 5);
        assertThat(queue.isShut()).isTrue();
        assertThat(poll(2)).containsExactly(1L, 2L);
        offer(6, 7);
        assertThat(poll(2)).containsExactly(3L, 4L);
        assertThat(queue.poll()).isNull();
        assertThat(queue.reopen()).isEqualTo(3);
        offer(8);
        assertThat(poll(1)).containsExactly(8L);
        assertThat(queue.reopen()).isZero();
    }

    private void offer(long... nanos) {
        for (long time : nanos) {
            queue.offer(new Event.Cycle(time));
        }
    }

    private List<Long> poll(int count) {
        List<Long> times = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            if (queue.poll() instanceof Event.Cycle(long nanos)) {
                times.add(nanos);
            }
        }
        return times;
    }
}
