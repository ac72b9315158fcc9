package org.horovod4j.collectives.algorithm;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import org.horovod4j.DataType;
import org.horovod4j.spi.FusedTensors;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicIntegerArray;
import java.util.concurrent.atomic.AtomicLong;

class HelperThreadsTest {
    private static final int ELEMENTS = 1 << 20;

    private final List<Thread> started = new CopyOnWriteArrayList<>();
    private boolean programWaits = true;
    private final HelperThreads helpers =
            new HelperThreads(
                    3,
                    work -> {
                        Thread thread = Thread.ofPlatform().daemon().unstarted(work);
                        started.add(thread);
                        return thread;
                    },
                    () -> programWaits);

    @AfterEach
    void close() {
        helpers.close();
    }

    private static FusedTensors tensors(MemorySegment memory) {
        FusedTensors fusedTensors =
                new FusedTensors(DataType.FLOAT32, memory.byteSize() / Float.BYTES);
        fusedTensors.set(0, memory, memory);
        return fusedTensors;
    }

    private static FusedTensors large() {
        return tensors(MemorySegment.ofArray(new float[ELEMENTS]));
    }

    @Test
    void everyElementIsProcessedOnceInEveryCollective() {
        AtomicIntegerArray processed = new AtomicIntegerArray(ELEMENTS);
        for (int collective = 1; collective <= 200; collective++) {
            assertThat(helpers.begin(large())).isEqualTo(4);
            helpers.divide(
                    ELEMENTS,
                    Float.BYTES,
                    (first, count) -> {
                        for (long i = first; i < first + count; i++) {
                            processed.incrementAndGet((int) i);
                        }
                    });
            int expected = collective;
            for (int i = 0; i < ELEMENTS; i += 1009) {
                assertThat(processed.get(i)).isEqualTo(expected);
            }
        }
    }

    @Test
    void allThreadsTakePart() {
        assertThat(helpers.begin(large())).isEqualTo(4);
        CountDownLatch all = new CountDownLatch(4);
        Set<Thread> workers = ConcurrentHashMap.newKeySet();
        helpers.share(
                () -> {
                    workers.add(Thread.currentThread());
                    all.countDown();
                    awaitQuietly(all);
                });
        assertThat(workers).hasSize(4).contains(Thread.currentThread()).containsAll(started);
    }

    private static void awaitQuietly(CountDownLatch latch) {
        try {
            latch.await();
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }

    @Test
    void failureOfHelperReachesCaller() {
        assertThat(helpers.begin(large())).isEqualTo(4);
        Thread caller = Thread.currentThread();
        CountDownLatch failed = new CountDownLatch(1);
        assertThatThrownBy(
                        () ->
                                helpers.share(
                                        () -> {
                                            if (Thread.currentThread().equals(caller)) {
                                                awaitQuietly(failed);
                                            } else {
                                                failed.countDown();
                                                throw new IllegalStateException("broken");
                                            }
                                        }))
                .isInstanceOf(IllegalStateException.class)
                .hasMessage("broken");
        AtomicLong processed = new AtomicLong();
        helpers.divide(ELEMENTS, Float.BYTES, (_, count) -> processed.addAndGet(count));
        assertThat(processed).hasValue(ELEMENTS);
    }

    @Test
    void noneHelpsWhileProgramComputes() {
        programWaits = false;
        assertThat(helpers.begin(large())).isEqualTo(1);
        assertThat(started).isEmpty();
    }

    @Test
    void noneHelpsWithSmallTensors() {
        assertThat(helpers.begin(tensors(MemorySegment.ofArray(new float[1000])))).isEqualTo(1);
        assertThat(started).isEmpty();
    }

    @Test
    void noneHelpsWithMemoryOfOneThread() {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment memory = arena.allocate(4L * ELEMENTS);
            assertThat(helpers.begin(tensors(memory))).isEqualTo(1);
        }
    }

    /// A thread that the system refuses to start, as it does at a limit.
    private static final class RefusedThread extends Thread {
        @Override
        public void start() {
            throw new OutOfMemoryError("unable to create native thread");
        }
    }

    @Test
    void callerWorksAloneIfThreadsCannotBeStarted() {
        assertThatCallerWorksAlone(_ -> new RefusedThread());
    }

    @Test
    void callerWorksAloneIfThreadFactoryFails() {
        assertThatCallerWorksAlone(
                _ -> {
                    throw new IllegalStateException("no more threads");
                });
    }

    /// @param failing creates the second thread
    private void assertThatCallerWorksAlone(ThreadFactory failing) {
        AtomicInteger attempts = new AtomicInteger();
        try (HelperThreads limited =
                new HelperThreads(
                        3,
                        work -> {
                            if (attempts.incrementAndGet() > 1) {
                                return failing.newThread(work);
                            }
                            Thread thread = Thread.ofPlatform().daemon().unstarted(work);
                            started.add(thread);
                            return thread;
                        },
                        () -> true)) {
            for (int collective = 0; collective < 2; collective++) {
                assertThat(limited.begin(large())).isEqualTo(1);
                AtomicLong processed = new AtomicLong();
                limited.divide(ELEMENTS, Float.BYTES, (_, count) -> processed.addAndGet(count));
                assertThat(processed).hasValue(ELEMENTS);
            }
            assertThat(attempts).as("it tries once, and logs once").hasValue(2);
            await().untilAsserted(() -> assertThat(started).hasSize(1).noneMatch(Thread::isAlive));
        }
    }

    @Test
    void closeEndsTheThreads() {
        assertThat(helpers.begin(large())).isEqualTo(4);
        assertThat(started).hasSize(3).allMatch(Thread::isAlive);
        helpers.close();
        await().until(() -> started.stream().noneMatch(Thread::isAlive));
    }
}
