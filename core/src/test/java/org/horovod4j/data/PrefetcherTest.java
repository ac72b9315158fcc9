package org.horovod4j.data;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import java.io.IOException;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.NoSuchElementException;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.Semaphore;
import java.util.stream.IntStream;
import java.util.stream.Stream;

@Timeout(60)
class PrefetcherTest {
    @ParameterizedTest
    @ValueSource(ints = {1, 3, 100})
    void elementsKeepTheirOrder(int ahead) {
        List<Integer> all = IntStream.range(0, 50).boxed().toList();
        try (Prefetcher<Integer> prefetcher = new Prefetcher<>(all.iterator(), ahead)) {
            List<Integer> read = new ArrayList<>();
            prefetcher.forEachRemaining(read::add);
            assertThat(read).isEqualTo(all);
            assertThat(prefetcher.hasNext()).isFalse();
            assertThatThrownBy(prefetcher::next).isInstanceOf(NoSuchElementException.class);
        }
    }

    @Test
    void sourceIsReadAheadOfUse() throws InterruptedException {
        Semaphore reads = new Semaphore(0);
        Iterator<Integer> source = numbers(reads, 10);
        try (Prefetcher<Integer> _ = new Prefetcher<>(source, 2)) {
            reads.acquire(3); // two are ready, and the third waits for a place
        }
        assertThat(reads.availablePermits()).as("no more were read").isZero();
    }

    @Test
    void exceptionOfSourceComesAfterItsElements() {
        IllegalArgumentException damaged = new IllegalArgumentException("damaged file");
        Iterator<Integer> source =
                new Iterator<>() {
                    private int next;

                    @Override
                    public boolean hasNext() {
                        return true;
                    }

                    @Override
                    public Integer next() {
                        if (next == 2) {
                            throw damaged;
                        }
                        return next++;
                    }
                };
        try (Prefetcher<Integer> prefetcher = new Prefetcher<>(source, 8)) {
            assertThat(prefetcher.next()).isZero();
            assertThat(prefetcher.next()).isOne();
            for (int i = 0; i < 2; i++) {
                assertThatThrownBy(prefetcher::hasNext)
                        .isInstanceOf(IllegalStateException.class)
                        .hasMessage("reading the next batch failed")
                        .hasCause(damaged);
            }
        }
    }

    /// As an iterator written in Kotlin or Scala may do.
    @Test
    void undeclaredExceptionOfSourceIsReported() {
        IOException damaged = new IOException("damaged file");
        Iterator<Integer> source =
                new Iterator<>() {
                    @Override
                    public boolean hasNext() {
                        throw PrefetcherTest.<RuntimeException>undeclared(damaged);
                    }

                    @Override
                    public Integer next() {
                        throw new NoSuchElementException();
                    }
                };
        try (Prefetcher<Integer> prefetcher = new Prefetcher<>(source, 1)) {
            assertThatThrownBy(prefetcher::hasNext).hasCause(damaged);
        }
    }

    @SuppressWarnings({"unchecked", "TypeParameterUnusedInFormals"})
    private static <E extends Throwable> E undeclared(Throwable thrown) throws E {
        throw (E) thrown;
    }

    @Test
    void closeEndsSourceThatClearsInterrupts() {
        Iterator<Boolean> source = Stream.generate(Thread::interrupted).iterator();
        Prefetcher<Boolean> prefetcher = new Prefetcher<>(source, 1);
        assertThat(prefetcher.next()).isFalse();
        prefetcher.close();
        assertThat(prefetcher.hasNext()).isFalse();
    }

    @Test
    void closeDiscardsWhatWasNotUsed() throws InterruptedException {
        Semaphore reads = new Semaphore(0);
        ConcurrentLinkedQueue<Integer> discarded = new ConcurrentLinkedQueue<>();
        Prefetcher<Integer> prefetcher = new Prefetcher<>(numbers(reads, 10), 2, discarded::add);
        reads.acquire(3);
        assertThat(prefetcher.next()).isZero();
        assertThat(prefetcher.hasNext()).isTrue();
        reads.acquire(2); // both places were refilled, and one more waits
        prefetcher.close();
        assertThat(prefetcher.hasNext()).isFalse();
        assertThat(discarded).containsExactlyInAnyOrder(1, 2, 3, 4);
    }

    /// The first `count` numbers. Each read releases a permit.
    private static Iterator<Integer> numbers(Semaphore reads, int count) {
        return IntStream.range(0, count)
                .mapToObj(
                        number -> {
                            reads.release();
                            return number;
                        })
                .iterator();
    }
}
