package org.horovod4j;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import org.horovod4j.testing.World;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;

/// What handles do after and around an operation.
class HandleTest {
    private static final Duration SHORT = Duration.ofMillis(5);
    private static final Duration LONG = Duration.ofMinutes(1);

    private final Operation first = new Operation();
    private final Operation second = new Operation();

    /// An operation that ends when the test says so.
    private static final class Operation implements Handle<Integer> {
        private final CountDownLatch done = new CountDownLatch(1);
        private volatile @Nullable HorovodException cause;
        private volatile int result;

        /// Streams that wait for it.
        final List<DeviceStream> streams = new ArrayList<>();

        /// Lets streams wait for `value`, while it is computed.
        void launch(int value) {
            result = value;
        }

        void complete(int value) {
            result = value;
            done.countDown();
        }

        void fail(HorovodException failure) {
            cause = failure;
            done.countDown();
        }

        @Override
        public boolean isDone() {
            return done.getCount() == 0;
        }

        @Override
        public Integer join() {
            return join(LONG);
        }

        @Override
        public Integer join(Duration timeout) {
            try {
                if (!done.await(timeout.toNanos(), TimeUnit.NANOSECONDS)) {
                    throw new OperationTimeoutException("test operation");
                }
            } catch (InterruptedException e) {
                throw new AssertionError("this test interrupts no thread", e);
            }
            HorovodException failure = cause;
            if (failure != null) {
                throw failure;
            }
            return result;
        }

        @Override
        public Integer awaitOn(DeviceStream stream) {
            streams.add(stream);
            return result;
        }

        @Override
        public Optional<HorovodException> failure() {
            return Optional.ofNullable(cause);
        }
    }

    @Test
    void functionRunsWhenTheOperationIsLaunchedForAStream() {
        DeviceStream stream = new DeviceStream(Device.cuda(0), 1);
        Handle<Integer> handle =
                Handle.allOf(List.of(first.thenApply(number -> number + 1), second))
                        .thenApply(all -> all.getFirst() + all.getLast());
        first.launch(1);
        second.launch(10);

        assertThat(handle.awaitOn(stream)).isEqualTo(12);
        assertThat(first.streams).containsExactly(stream);
        assertThat(second.streams).containsExactly(stream);
        assertThat(handle.isDone()).isFalse();
        assertThatThrownBy(() -> handle.join(SHORT)).isInstanceOf(OperationTimeoutException.class);

        DeviceStream other = new DeviceStream(Device.cuda(0), 2);
        assertThat(handle.awaitOn(other)).isEqualTo(12);
        assertThat(first.streams).containsExactly(stream, other);

        first.complete(1);
        second.complete(10);
        assertThat(handle.isDone()).isTrue();
        assertThat(handle.join()).isEqualTo(12);
    }

    @Test
    void failureAfterTheLaunchIsThatOfTheHandle() {
        DeviceStream stream = new DeviceStream(Device.cuda(0), 1);
        Handle<Integer> handle = first.thenApply(number -> number + 1);
        first.launch(1);
        assertThat(handle.awaitOn(stream)).isEqualTo(2);
        HorovodException lost = new HorovodException("a rank is lost");
        first.fail(lost);
        assertThat(handle.failure()).containsSame(lost);
        assertThatThrownBy(handle::join).isSameAs(lost);
    }

    @Test
    void isDoneCallsTheFunctionAfterTheOperationEnds() {
        List<Integer> calls = new ArrayList<>();
        Handle<String> handle =
                first.thenApply(
                        number -> {
                            calls.add(number);
                            return "number " + number;
                        });
        assertThat(handle.isDone()).isFalse();
        first.complete(7);
        assertThat(handle.isDone()).isTrue();
        assertThat(calls).containsExactly(7);
        assertThat(handle.join()).isEqualTo("number 7");
        assertThat(handle.join(SHORT)).isEqualTo("number 7");
        assertThat(handle.failure()).isEmpty();
        assertThat(calls).containsExactly(7);
    }

    @Test
    void threadsThatJoinGetTheSameResult() throws Exception {
        AtomicInteger calls = new AtomicInteger();
        Handle<Object> handle =
                first.thenApply(
                        _ -> {
                            calls.incrementAndGet();
                            return new Object();
                        });
        List<Future<Object>> results = new ArrayList<>();
        try (ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor()) {
            for (int i = 0; i < 50; i++) {
                boolean hasTimeout = i % 2 == 0;
                results.add(threads.submit(() -> hasTimeout ? handle.join(LONG) : handle.join()));
            }
            first.complete(1);
        }
        Object result = handle.join();
        for (Future<Object> other : results) {
            assertThat(other.get()).isSameAs(result);
        }
        assertThat(calls).hasValue(1);
    }

    @Test
    void functionIsNotCalledAfterAFailure() {
        HorovodException failure = new MismatchException("the ranks disagree");
        Handle<String> handle =
                first.thenApply(
                        _ -> {
                            throw new AssertionError("should not be called");
                        });
        first.fail(failure);
        assertThat(handle.failure()).containsSame(failure);
        assertThatThrownBy(handle::join).isSameAs(failure);
        assertThatThrownBy(() -> handle.join(LONG)).isSameAs(failure);
        assertThat(handle.isDone()).isTrue();
        assertThat(handle.failure()).containsSame(failure);
    }

    @Test
    void functionThatThrowsIsNotCalledAgain() {
        AtomicInteger calls = new AtomicInteger();
        IllegalStateException failure = new IllegalStateException("no room");
        Handle<String> handle =
                first.thenApply(
                        _ -> {
                            calls.incrementAndGet();
                            throw failure;
                        });
        first.complete(1);
        assertThatThrownBy(handle::join)
                .isInstanceOf(HorovodException.class)
                .hasMessageContaining("no room")
                .hasCause(failure);
        assertThatThrownBy(handle::join).isSameAs(handle.failure().orElseThrow());
        assertThat(calls).hasValue(1);
    }

    @Test
    void composedOperationIsSubmittedWithoutJoin() throws Exception {
        CountDownLatch submitted = new CountDownLatch(1);
        Handle<Integer> handle =
                first.thenCompose(
                        _ -> {
                            submitted.countDown();
                            return second;
                        });
        first.complete(1);
        submitted.await();
        assertThat(handle.isDone()).isFalse();
        second.complete(2);
        assertThat(handle.join()).isEqualTo(2);
        assertThat(handle.isDone()).isTrue();
    }

    @Test
    void failureOfAComposedOperationIsThatOfTheHandle() {
        HorovodException failure = new MismatchException("the ranks disagree");
        Handle<Integer> handle = first.thenCompose(_ -> second);
        first.complete(1);
        second.fail(failure);
        assertThatThrownBy(handle::join).isSameAs(failure);
        assertThat(handle.failure()).containsSame(failure);
    }

    @Test
    void timeoutOfADependentHandleLeavesItUsable() {
        Handle<Integer> applied = first.thenApply(number -> number + 1);
        Handle<Integer> composed = first.thenCompose(_ -> second);
        assertThatThrownBy(() -> applied.join(SHORT)).isInstanceOf(OperationTimeoutException.class);
        assertThatThrownBy(() -> composed.join(SHORT))
                .isInstanceOf(OperationTimeoutException.class);
        first.complete(1);
        assertThatThrownBy(() -> composed.join(SHORT))
                .isInstanceOf(OperationTimeoutException.class);
        second.complete(5);
        assertThat(applied.join(LONG)).isEqualTo(2);
        assertThat(composed.join(LONG)).isEqualTo(5);
    }

    @Test
    void timeoutWhileAnotherThreadCallsTheFunction() throws Exception {
        CountDownLatch called = new CountDownLatch(1);
        CountDownLatch release = new CountDownLatch(1);
        Handle<Integer> handle =
                first.thenApply(
                        number -> {
                            called.countDown();
                            awaitUninterruptibly(release);
                            return number;
                        });
        first.complete(3);
        CompletableFuture<Integer> other = handle.toCompletableFuture();
        called.await();
        assertThat(handle.isDone()).isFalse();
        assertThatThrownBy(() -> handle.join(SHORT)).isInstanceOf(OperationTimeoutException.class);
        release.countDown();
        assertThat(other.get()).isEqualTo(3);
        assertThat(handle.join(LONG)).isEqualTo(3);
    }

    private static void awaitUninterruptibly(CountDownLatch latch) {
        try {
            latch.await();
        } catch (InterruptedException e) {
            throw new AssertionError("this test interrupts no thread", e);
        }
    }

    @Test
    void allOfIsDoneWhenAllAre() {
        Handle<List<Integer>> all = Handle.allOf(List.of(first, second));
        second.complete(2);
        assertThat(all.isDone()).isFalse();
        assertThatThrownBy(() -> all.join(SHORT)).isInstanceOf(OperationTimeoutException.class);
        first.complete(1);
        assertThat(all.isDone()).isTrue();
        assertThat(all.join()).containsExactly(1, 2);
        assertThat(all.join(SHORT)).containsExactly(1, 2);
        assertThat(all.failure()).isEmpty();
        assertThat(Handle.allOf(List.<Handle<Integer>>of()).join()).isEmpty();
    }

    @Test
    void allOfWaitsForTheOthersAfterAFailure() throws Exception {
        HorovodException failure = new MismatchException("the ranks disagree");
        Handle<List<Integer>> all = Handle.allOf(List.of(first, second));
        CompletableFuture<List<Integer>> waiting = all.toCompletableFuture();
        first.fail(failure);
        assertThat(waiting).isNotDone();
        assertThat(all.failure()).containsSame(failure);
        second.complete(2);
        assertThatThrownBy(waiting::get).cause().isSameAs(failure);
        assertThatThrownBy(all::join).isSameAs(failure);
    }

    @Test
    void futureEndsAsTheOperationDoes() throws Exception {
        CompletableFuture<Integer> good = first.toCompletableFuture();
        CompletableFuture<Integer> bad = second.toCompletableFuture();
        assertThat(good).isNotDone();
        first.complete(4);
        assertThat(good.get()).isEqualTo(4);
        HorovodException failure = new ShutDownException("over");
        second.fail(failure);
        assertThatThrownBy(bad::get).cause().isSameAs(failure);
    }

    @Test
    void completedHandleHasItsResult() {
        Handle<String> handle = Handle.completed("yes");
        assertThat(handle.isDone()).isTrue();
        assertThat(handle.join()).isEqualTo("yes");
        assertThat(handle.join(Duration.ZERO)).isEqualTo("yes");
        assertThat(handle.failure()).isEmpty();
    }

    @Test
    void actionRunsOnceWhenTheOperationHasEnded() throws Exception {
        HorovodException failure = new MismatchException("the ranks disagree");
        CompletableFuture<Optional<HorovodException>> seen = new CompletableFuture<>();
        first.whenDone(() -> seen.complete(first.failure()));
        assertThat(seen).isNotDone();
        first.fail(failure);
        assertThat(seen.get()).containsSame(failure);
    }

    @Test
    void actionOfSeveralHandlesRunsAfterTheLast() throws Exception {
        Handle<List<Integer>> all = Handle.allOf(List.of(first, second));
        AtomicInteger calls = new AtomicInteger();
        CompletableFuture<Boolean> seen = new CompletableFuture<>();
        all.whenDone(
                () -> {
                    calls.incrementAndGet();
                    seen.complete(all.isDone());
                });
        first.complete(1);
        assertThat(seen).isNotDone();
        second.complete(2);
        assertThat(seen.get()).isTrue();
        assertThat(calls).hasValue(1);
        Handle.allOf(List.<Handle<Integer>>of()).whenDone(calls::incrementAndGet);
        Handle.completed(1).whenDone(calls::incrementAndGet);
        assertThat(calls).hasValue(3);
    }

    /// Actions are added before and after the end, which another thread brings about.
    @Test
    void actionsOfACollectiveRunOnce() {
        World.run(
                2,
                comm -> {
                    for (int i = 0; i < 200; i++) {
                        float[] values = {comm.rank(), 1};
                        Tensor tensor = Tensor.of(values).copy();
                        AtomicInteger calls = new AtomicInteger();
                        Handle<Tensor> handle = comm.allreduceAsync("x", tensor, ReduceOp.SUM);
                        handle.whenDone(calls::incrementAndGet);
                        handle.whenDone(calls::incrementAndGet);
                        CompletableFuture<float[]> result = new CompletableFuture<>();
                        handle.whenDone(() -> result.complete(tensor.toFloatArray()));
                        Tensor _ = handle.join();
                        assertThat(result.join()).containsExactly(1, 2);
                        handle.whenDone(calls::incrementAndGet);
                        await().pollDelay(Duration.ZERO)
                                .untilAsserted(() -> assertThat(calls).hasValue(3));
                    }
                });
    }
}
