package org.horovod4j;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicInteger;

class SequelTest {
    private final Operation first = new Operation();

    /// An operation that ends when the test says so.
    private static final class Operation implements Handle<Integer> {
        private final CountDownLatch done = new CountDownLatch(1);
        private volatile @Nullable HorovodException cause;
        private volatile int result;

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
            try {
                done.await();
            } catch (InterruptedException e) {
                throw new AssertionError("nobody interrupts this test", e);
            }
            HorovodException failure = cause;
            if (failure != null) {
                throw failure;
            }
            return result;
        }

        @Override
        public @Nullable HorovodException cause() {
            return cause;
        }
    }

    @Test
    void whoAsksFindsTheWorkDoneOnceTheFirstOperationIs() {
        List<Integer> worked = new ArrayList<>();
        Handle<String> handle =
                Sequel.of(
                        first,
                        number -> {
                            worked.add(number);
                            return "number " + number;
                        });
        assertThat(handle.isDone()).isFalse();
        first.complete(7);
        assertThat(handle.isDone()).isTrue();
        assertThat(worked).containsExactly(7);
        assertThat(handle.join()).isEqualTo("number 7");
        assertThat(handle.cause()).isNull();
        assertThat(worked).containsExactly(7);
    }

    @Test
    void manyThreadsThatJoinGetOneResult() throws Exception {
        AtomicInteger worked = new AtomicInteger();
        Handle<Object> handle =
                Sequel.of(
                        first,
                        _ -> {
                            worked.incrementAndGet();
                            return new Object();
                        });
        List<Future<Object>> results = new ArrayList<>();
        try (ExecutorService each = Executors.newVirtualThreadPerTaskExecutor()) {
            for (int i = 0; i < 50; i++) {
                results.add(each.submit(handle::join));
            }
            first.complete(1);
        }
        Object result = handle.join();
        for (Future<Object> other : results) {
            assertThat(other.get()).isSameAs(result);
        }
        assertThat(worked).hasValue(1);
    }

    @Test
    void nothingFollowsAFailure() {
        HorovodException failure = new MismatchException("the ranks disagree");
        Handle<String> handle =
                Sequel.of(
                        first,
                        _ -> {
                            throw new AssertionError("should not be called");
                        });
        first.fail(failure);
        assertThat(handle.cause()).isSameAs(failure);
        assertThatThrownBy(handle::join).isSameAs(failure);
        assertThatThrownBy(handle::join).isSameAs(failure);
        assertThat(handle.isDone()).isTrue();
        assertThat(handle.cause()).isSameAs(failure);
    }

    @Test
    void workThatFailsIsNotTriedAgain() {
        AtomicInteger tried = new AtomicInteger();
        IllegalStateException failure = new IllegalStateException("no room");
        Handle<String> handle =
                Sequel.of(
                        first,
                        _ -> {
                            tried.incrementAndGet();
                            throw failure;
                        });
        first.complete(1);
        assertThatThrownBy(handle::join)
                .isInstanceOf(HorovodException.class)
                .hasMessageContaining("no room")
                .hasCause(failure);
        assertThatThrownBy(handle::join).isSameAs(handle.cause());
        assertThat(tried).hasValue(1);
    }

    @Test
    void aChainedOperationIsSubmittedThoughNobodyJoins() throws Exception {
        CountDownLatch submitted = new CountDownLatch(1);
        Operation second = new Operation();
        Handle<Integer> handle =
                Sequel.chain(
                        first,
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
    void theFailureOfAChainedOperationIsThatOfTheWhole() {
        HorovodException failure = new MismatchException("the ranks disagree");
        Operation second = new Operation();
        Handle<Integer> handle = Sequel.chain(first, _ -> second);
        first.complete(1);
        second.fail(failure);
        assertThatThrownBy(handle::join).isSameAs(failure);
        assertThat(handle.cause()).isSameAs(failure);
    }
}
