package org.horovod4j.dl4j;

import org.jspecify.annotations.Nullable;

import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.NoSuchElementException;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.function.ToIntFunction;

/// Divides batches among ranks: in each round every rank gets one. In the last round of an epoch there
/// may be fewer batches than ranks; their samples are then divided evenly.
///
/// @param <T> the batches
final class BatchRounds<T> implements Iterator<T> {
    private final Iterator<? extends T> all;
    private final Batches<T> batches;
    private final int rank;
    private final int size;
    private @Nullable T next;

    /// What a kind of batches can do.
    ///
    /// @param detach copies a batch out of a workspace, in which a later batch would overwrite it
    /// @param samples how many a batch has
    /// @param merge makes one batch of several
    /// @param split makes a batch of each sample
    record Batches<T>(
            Consumer<T> detach,
            ToIntFunction<T> samples,
            Function<List<T>, ? extends T> merge,
            Function<T, List<T>> split) {}

    BatchRounds(Iterator<? extends T> all, Batches<T> batches, int rank, int size) {
        if (rank < 0 || rank >= size) {
            throw new IllegalArgumentException(
                    "there is no rank %d of %d ranks".formatted(rank, size));
        }
        this.all = all;
        this.batches = batches;
        this.rank = rank;
        this.size = size;
    }

    /// Starts again, after the wrapped iterator was reset.
    void reset() {
        next = null;
    }

    @Override
    public boolean hasNext() {
        if (next == null) {
            next = readRound();
        }
        return next != null;
    }

    @Override
    public T next() {
        if (!hasNext() || next == null) {
            throw new NoSuchElementException();
        }
        T batch = next;
        next = null;
        return batch;
    }

    private @Nullable T readRound() {
        List<T> round = new ArrayList<>();
        while (round.size() < size && all.hasNext()) {
            T batch = all.next();
            batches.detach.accept(batch);
            round.add(batch);
        }
        return round.size() == size ? round.get(rank) : part(round);
    }

    private @Nullable T part(List<T> round) {
        int samples = round.stream().mapToInt(batches.samples).sum();
        if (samples < size) {
            return null;
        }
        T whole = batches.merge.apply(round);
        int from = (int) ((long) samples * rank / size);
        int to = (int) ((long) samples * (rank + 1) / size);
        return batches.merge.apply(batches.split.apply(whole).subList(from, to));
    }
}
