package org.horovod4j.runtime.cycle;

import static org.assertj.core.api.Assertions.assertThat;

import org.horovod4j.runtime.message.TestRequests;
import org.horovod4j.runtime.queue.Operation;
import org.horovod4j.runtime.queue.TensorEntry;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;

class CompletedEntriesTest {
    private static final int ROUNDS = 200_000;

    private final CompletedEntries completedEntries = new CompletedEntries();

    /// The thread that completes sees the waiter, or the waiter sees the end. If neither did, the waiter
    /// would sleep for ever.
    @Test
    @Timeout(60)
    void completionWakesAWaiterThatArrivesAtTheSameTime() throws InterruptedException {
        AtomicReference<@Nullable TensorEntry<Integer>> awaited = new AtomicReference<>();
        Thread waiter =
                Thread.ofPlatform()
                        .daemon()
                        .start(
                                () -> {
                                    for (int round = 0; round < ROUNDS; round++) {
                                        TensorEntry<Integer> tensorEntry = awaited.get();
                                        while (tensorEntry == null) {
                                            Thread.onSpinWait();
                                            tensorEntry = awaited.get();
                                        }
                                        while (!tensorEntry.hasEnded()) {
                                            tensorEntry.awaitEnd(Long.MAX_VALUE);
                                        }
                                        awaited.set(null);
                                    }
                                });
        AtomicInteger actions = new AtomicInteger();
        for (int round = 0; round < ROUNDS; round++) {
            TensorEntry<Integer> first = entry();
            TensorEntry<Integer> second = entry();
            second.whenDone(actions::incrementAndGet);
            awaited.set(first);
            completedEntries.add(first, round);
            completedEntries.add(second, round);
            for (int pause = round % 40; pause > 0; pause--) { // another moment in each round
                Thread.onSpinWait();
            }
            completedEntries.completeAll();
            while (awaited.get() != null) {
                if (Thread.interrupted()) { // by the timeout
                    throw new InterruptedException("the waiter sleeps in round " + round);
                }
                Thread.yield();
            }
            assertThat(first.join()).isEqualTo(round);
        }
        waiter.join();
        assertThat(actions).hasValue(ROUNDS);
    }

    private static TensorEntry<Integer> entry() {
        return new TensorEntry<>(
                TestRequests.sum("a", 3),
                new Operation.Barrier(),
                new TensorEntry.ProgressEngine() {
                    @Override
                    public void await(TensorEntry<?> tensorEntry) {
                        throw new IllegalStateException("no thread drives here");
                    }

                    @Override
                    public void polled(TensorEntry<?> tensorEntry) {}

                    @Override
                    public void completionObserved() {}
                });
    }
}
