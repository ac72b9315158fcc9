package org.horovod4j.runtime.cycle;

import static org.assertj.core.api.Assertions.assertThat;

import org.horovod4j.runtime.fusion.Batch;
import org.horovod4j.runtime.message.Request;
import org.horovod4j.runtime.message.TestRequests;
import org.horovod4j.runtime.queue.Operation;
import org.horovod4j.runtime.queue.TensorEntry;
import org.horovod4j.transport.CachedClock;
import org.horovod4j.transport.ManualClock;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;

/// How the entries of a batch end, and what other threads see of it.
class EndOfEntriesTest {
    private static final int ROUNDS = 200_000;

    private final TensorQueue queue = new TensorQueue(new CachedClock(new ManualClock()));
    private final List<Request> requests =
            List.of(TestRequests.sum("a", 3), TestRequests.sum("b", 3));

    private final TensorEntry.ProgressEngine progressEngine =
            new TensorEntry.ProgressEngine() {
                @Override
                public void await(TensorEntry<?> tensorEntry) {
                    throw new IllegalStateException("no thread drives here");
                }

                @Override
                public void polled(TensorEntry<?> tensorEntry) {}

                @Override
                public void completionObserved() {}

                @Override
                public void passLock() {
                    queue.passLock();
                }
            };

    /// The thread that ends entries sees the waiter, or the waiter sees the end. If neither did, the
    /// waiter would sleep for ever. The same holds for actions.
    @Test
    @Timeout(60)
    void endWakesAWaiterThatArrivesAtTheSameTime() throws InterruptedException {
        AtomicReference<@Nullable TensorEntry<Integer>> awaited = new AtomicReference<>();
        AtomicInteger actions = new AtomicInteger();
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
                                        if (round % 2 == 0) {
                                            tensorEntry.whenDone(actions::incrementAndGet);
                                        }
                                        while (!tensorEntry.hasEnded()) {
                                            tensorEntry.awaitEnd(Long.MAX_VALUE);
                                        }
                                        awaited.set(null);
                                    }
                                });
        for (int round = 0; round < ROUNDS; round++) {
            Batch batch = submitBatch(round);
            TensorEntry<Integer> first = entry(batch, 0);
            awaited.set(first);
            for (int pause = round % 40; pause > 0; pause--) { // another moment in each round
                Thread.onSpinWait();
            }
            TensorEntry.signalEnds(queue.end(batch));
            while (awaited.get() != null) {
                if (Thread.interrupted()) { // by the timeout
                    throw new InterruptedException("the waiter sleeps in round " + round);
                }
                Thread.yield();
            }
            assertThat(first.join()).isEqualTo(round);
        }
        waiter.join();
        assertThat(actions).hasValue(ROUNDS / 2);
    }

    @Test
    void actionsRunInTheOrderOfTheBatch() {
        Batch batch = submitBatch(1);
        List<String> order = new ArrayList<>();
        entry(batch, 1).whenDone(() -> order.add("b"));
        entry(batch, 0).whenDone(() -> order.add("a"));
        TensorEntry<?> ended = queue.end(batch);
        assertThat(order).isEmpty();
        TensorEntry.signalEnds(ended);
        assertThat(order).containsExactly("a", "b");
    }

    @Test
    void namesAreFreeWhenEntriesHaveEnded() {
        Batch batch = submitBatch(1);
        TensorEntry<Integer> first = entry(batch, 0);
        TensorEntry<?> ended = queue.end(batch);
        assertThat(queue.isEmpty()).isTrue();
        TensorEntry<Integer> next = entry(submitBatch(2), 0);
        TensorEntry.signalEnds(ended);
        assertThat(first.hasEnded()).isTrue();
        assertThat(first.join()).isEqualTo(1);
        assertThat(next.hasEnded()).isFalse();
    }

    /// The batch of a plan keeps the slots of its names.
    @Test
    void batchFindsTheEntriesOfTheNextStep() {
        Batch batch = submitBatch(1);
        TensorEntry.signalEnds(queue.end(batch));
        batch.clear();
        assertThat(batch.entry(0)).isNull();
        Batch other = submitBatch(2);
        batch.put(1, entry(other, 1));
        assertThat(batch.isFilled()).isFalse();
        assertThat(batch.entry(0)).isNull(); // submitted, but not in this batch
        assertThat(batch.entry(1)).isSameAs(entry(other, 1));
        batch.put(0, entry(other, 0));
        assertThat(batch.isFilled()).isTrue();
        assertThat(batch.entry(0)).isSameAs(entry(other, 0));
    }

    /// A batch of two submitted entries that has run.
    private Batch submitBatch(int result) {
        Batch batch = new Batch(requests);
        for (int i = 0; i < batch.size(); i++) {
            TensorEntry<Integer> tensorEntry =
                    new TensorEntry<>(requests.get(i), new Operation.Barrier(), progressEngine);
            boolean _ = queue.submit(tensorEntry);
            batch.put(i, tensorEntry);
            batch.result(i, result);
        }
        return batch;
    }

    @SuppressWarnings("unchecked") // submitBatch has created it
    private static TensorEntry<Integer> entry(Batch batch, int index) {
        return (TensorEntry<Integer>) Objects.requireNonNull(batch.entry(index));
    }
}
