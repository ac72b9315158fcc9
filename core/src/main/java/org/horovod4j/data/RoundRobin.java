package org.horovod4j.data;

import org.jspecify.annotations.Nullable;

import java.util.Iterator;
import java.util.NoSuchElementException;
import java.util.function.Consumer;

/// Every n-th element of a sequence that can only be read in order: the part of one of `n` ranks.
///
/// All ranks get the same number of elements. The last ones, if they are not enough for all ranks,
/// are left out. So a rank reads up to the element of the last rank before it returns its own.
///
/// @param <T> the elements, usually batches
public final class RoundRobin<T> implements Iterator<T> {
    private final Iterator<T> all;
    private final int rank;
    private final int size;
    private final Consumer<? super T> discard;
    private @Nullable T next;

    /// @param discard called for each element that is not of this rank, or is left out
    public RoundRobin(Iterator<T> all, int rank, int size, Consumer<? super T> discard) {
        if (rank < 0 || rank >= size) {
            throw new IllegalArgumentException(
                    "there is no rank %d of %d ranks".formatted(rank, size));
        }
        this.all = all;
        this.rank = rank;
        this.size = size;
        this.discard = discard;
    }

    @Override
    public boolean hasNext() {
        if (next == null) {
            next = readRound();
        }
        return next != null;
    }

    /// Reads an element for each rank and returns that of this rank, or null if there are not enough.
    private @Nullable T readRound() {
        @Nullable T own = null;
        for (int i = 0; i < size; i++) {
            if (!all.hasNext()) {
                if (own != null) {
                    discard.accept(own);
                }
                return null;
            }
            T element = all.next();
            if (i == rank) {
                own = element;
            } else {
                discard.accept(element);
            }
        }
        return own;
    }

    @Override
    public T next() {
        if (!hasNext() || next == null) {
            throw new NoSuchElementException();
        }
        T element = next;
        next = null;
        return element;
    }
}
