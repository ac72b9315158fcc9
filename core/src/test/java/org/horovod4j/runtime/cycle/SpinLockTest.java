package org.horovod4j.runtime.cycle;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;

@Timeout(60)
class SpinLockTest {
    private static final int THREADS = 4;
    private static final int SECTIONS = 100_000;

    private final SpinLock lock = new SpinLock();

    /// Guarded by the lock.
    private int counter;

    @Test
    void oneThreadAtATimeIsInASection() throws InterruptedException {
        List<Thread> threads = new ArrayList<>();
        for (int i = 0; i < THREADS; i++) {
            Thread.Builder builder = i % 2 == 0 ? Thread.ofPlatform().daemon() : Thread.ofVirtual();
            threads.add(builder.start(this::count));
        }
        for (Thread thread : threads) {
            thread.join();
        }
        assertThat(counter).isEqualTo(THREADS * SECTIONS);
    }

    private void count() {
        for (int i = 0; i < SECTIONS; i++) {
            lock.lock();
            try {
                int before = counter;
                if (i % 1000 == 0) { // longer than others spin
                    Thread.yield();
                }
                counter = before + 1;
            } finally {
                lock.unlock();
            }
        }
    }

    @Test
    void threadThatHasTheLockGetsAnError() {
        lock.lock();
        assertThatThrownBy(lock::lock)
                .isInstanceOf(IllegalMonitorStateException.class)
                .hasMessage("this thread has the lock already");
        lock.unlock();
        lock.lock();
    }

    @Test
    void interruptedThreadWaitsForTheLock() throws InterruptedException {
        lock.lock();
        Thread interrupted = Thread.ofPlatform().daemon().start(this::count);
        interrupted.interrupt();
        interrupted.join(Duration.ofMillis(50));
        assertThat(counter).isZero();
        lock.unlock();
        interrupted.join();
        assertThat(counter).isEqualTo(SECTIONS);
    }
}
