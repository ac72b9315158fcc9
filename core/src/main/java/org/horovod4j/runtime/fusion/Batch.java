package org.horovod4j.runtime.fusion;

import org.horovod4j.runtime.message.Request;
import org.horovod4j.runtime.queue.TensorEntry;
import org.horovod4j.spi.FusedTensors;
import org.jspecify.annotations.Nullable;

import java.util.Arrays;
import java.util.List;

/// Operations that run as one collective, and this rank's entries for them.
///
/// A batch of a plan runs in every step, so it keeps its [FusedTensors].
public final class Batch {
    private final List<Request> requests;
    private final @Nullable TensorEntry<?>[] entries;
    private final long byteSize;
    private @Nullable Object[] results;
    private int missing;
    private @Nullable FusedTensors fusedTensors;
    private volatile boolean awaitedSoon;

    /// @param requests at least one
    public Batch(List<Request> requests) {
        this.requests = List.copyOf(requests);
        this.entries = new TensorEntry<?>[requests.size()];
        this.results = new Object[entries.length];
        this.byteSize = requests.stream().mapToLong(Request::byteSize).sum();
        this.missing = entries.length;
    }

    /// The requests that the ranks agreed on. Where row counts may differ, those of one rank.
    public List<Request> requests() {
        return requests;
    }

    /// The first request, for what all requests have in common.
    public Request first() {
        return requests.getFirst();
    }

    public int size() {
        return entries.length;
    }

    /// The size of all its tensors.
    public long byteSize() {
        return byteSize;
    }

    /// This rank's entry; null if it is not submitted yet, or if this rank has joined.
    public @Nullable TensorEntry<?> entry(int index) {
        return entries[index];
    }

    /// Whether the place has no entry.
    public boolean isFree(int index) {
        return entries[index] == null;
    }

    public void put(int index, TensorEntry<?> tensorEntry) {
        entries[index] = tensorEntry;
        missing--;
    }

    /// Whether all its entries are submitted.
    public boolean isFilled() {
        return missing == 0;
    }

    /// Stores the result of an operation.
    public void result(int index, Object result) {
        results[index] = result;
    }

    /// The result of an operation, after the batch has run.
    public @Nullable Object result(int index) {
        return results[index];
    }

    /// Removes entries and results, for the next step.
    public void clear() {
        Arrays.fill(entries, null);
        Arrays.fill(results, null);
        missing = entries.length;
        if (fusedTensors != null) {
            fusedTensors.clear();
        }
    }

    /// Whether the program waited for the batch as soon as it was filled, in the last step.
    public boolean wasAwaitedSoon() {
        return awaitedSoon;
    }

    /// Records whether the program waits for the batch as soon as it is filled.
    public void setAwaitedSoon(boolean soon) {
        if (awaitedSoon != soon) { // a read costs less than a write
            awaitedSoon = soon;
        }
    }

    public @Nullable FusedTensors fusedTensors() {
        return fusedTensors;
    }

    /// Keeps `created` for the next step.
    public void setFusedTensors(FusedTensors created) {
        fusedTensors = created;
    }
}
