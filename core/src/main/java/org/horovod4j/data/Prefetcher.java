package org.horovod4j.data;

import org.jspecify.annotations.Nullable;

import java.time.Duration;
import java.util.Iterator;
import java.util.NoSuchElementException;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.BlockingQueue;
import java.util.function.Consumer;

/// Reads batches ahead in another thread, so that a training step does not wait for files or
/// augmentation.
///
/// ```java
/// try (Prefetcher<float[]> batches = new Prefetcher<>(reader.iterator(), 4)) {
///     while (batches.hasNext()) {
///         train(batches.next());
///     }
/// }
/// ```
///
/// The thread is a virtual one, and only it uses the source. An exception of the source is thrown by
/// [#hasNext] after the batches that were read before. One thread uses a prefetcher.
///
/// @param <T> the batches
public final class Prefetcher<T> implements Iterator<T>, AutoCloseable {
    private static final Duration CLOSE_POLL = Duration.ofMillis(10);

    private final BlockingQueue<Item<T>> queue;
    private final Consumer<? super T> discard;
    private final Thread reader;
    private @Nullable Item<T> next;
    private volatile boolean closed;

    /// What the reader has found.
    private sealed interface Item<T> {
        record Element<T>(T value) implements Item<T> {}

        record End<T>() implements Item<T> {}

        record Failure<T>(Throwable thrown) implements Item<T> {}
    }

    /// Starts to read.
    ///
    /// @param ahead how many batches are kept ready, at least 1
    public Prefetcher(Iterator<? extends T> source, int ahead) {
        this(source, ahead, _ -> {});
    }

    /// @param discard frees a batch that was read but not used, when this is closed early
    public Prefetcher(Iterator<? extends T> source, int ahead, Consumer<? super T> discard) {
        if (ahead < 1) {
            throw new IllegalArgumentException(
                    "a prefetcher keeps at least one batch ready, not " + ahead);
        }
        this.queue = new ArrayBlockingQueue<>(ahead);
        this.discard = discard;
        this.reader = Thread.ofVirtual().name("hvd-prefetch").start(() -> readAll(source));
    }

    private void readAll(Iterator<? extends T> source) {
        try {
            put(read(source));
        } catch (InterruptedException e) { // closed
            Thread.currentThread().interrupt();
        }
    }

    /// Reads until the end.
    ///
    /// @return how the source ended
    private Item<T> read(Iterator<? extends T> source) throws InterruptedException {
        try {
            while (!closed && source.hasNext()) {
                put(new Item.Element<>(source.next()));
            }
            return new Item.End<>();
        } catch (InterruptedException e) {
            throw e;
        } catch (Throwable e) {
            // Thrown again by the thread that trains. A source in Kotlin or Scala may throw checked
            // exceptions.
            return new Item.Failure<>(e);
        }
    }

    private void put(Item<T> item) throws InterruptedException {
        try {
            queue.put(item);
        } catch (InterruptedException e) {
            free(item);
            throw e;
        }
    }

    private void free(Item<T> item) {
        if (item instanceof Item.Element<T>(T value)) {
            discard.accept(value);
        }
    }

    /// Waits until a batch is there, or the source has ended.
    ///
    /// @throws IllegalStateException with the exception of the source as its cause, or when this
    ///     thread is interrupted
    @Override
    public boolean hasNext() {
        if (next == null) {
            next = take();
        }
        return switch (next) {
            case Item.Element<T> _ -> true;
            case Item.End<T>() -> false;
            case Item.Failure<T>(Throwable thrown) ->
                    throw new IllegalStateException("reading the next batch failed", thrown);
        };
    }

    private Item<T> take() {
        try {
            return queue.take();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new IllegalStateException("interrupted while waiting for a batch", e);
        }
    }

    private void discardRead() {
        for (Item<T> item = queue.poll(); item != null; item = queue.poll()) {
            free(item);
        }
    }

    @Override
    public T next() {
        if (!hasNext() || !(next instanceof Item.Element<T>(T value))) {
            throw new NoSuchElementException();
        }
        next = null;
        return value;
    }

    /// Ends the reader and discards what it has read. Waits until the source is no longer in use.
    @Override
    public void close() {
        closed = true;
        reader.interrupt();
        boolean interrupted = false;
        while (reader.isAlive()) {
            // A source may have cleared the interrupt; the reader then waits for room in the queue.
            discardRead();
            try {
                boolean _ = reader.join(CLOSE_POLL);
            } catch (InterruptedException e) {
                interrupted = true;
            }
        }
        if (next != null) {
            free(next);
        }
        discardRead();
        next = new Item.End<>();
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
    }
}
