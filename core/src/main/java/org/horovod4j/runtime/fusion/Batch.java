package org.horovod4j.runtime.fusion;

import org.horovod4j.runtime.message.Request;
import org.horovod4j.runtime.queue.TensorEntry;
import org.horovod4j.spi.FusedTensors;
import org.jspecify.annotations.Nullable;

import java.util.Arrays;
import java.util.List;
import java.util.Objects;

/// Operations that run as one collective, and this rank's entries for them.
///
/// A batch of a plan runs in every step, so it keeps its [FusedTensors]. It refers to entries through
/// their slots in the queue, because to store a reference to a new object in an old one costs a
/// memory fence.
public final class Batch {
    private final List<Request> requests;
    private final TensorEntry.@Nullable QueueSlot[] slots;
    private final boolean[] submitted;
    private final long byteSize;
    private int missing;
    private @Nullable FusedTensors fusedTensors;
    private volatile boolean awaitedSoon;

    /// @param requests at least one
    public Batch(List<Request> requests) {
        this.requests = List.copyOf(requests);
        this.slots = new TensorEntry.QueueSlot[requests.size()];
        this.submitted = new boolean[slots.length];
        this.byteSize = requests.stream().mapToLong(Request::byteSize).sum();
        this.missing = slots.length;
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
        return slots.length;
    }

    /// The size of all its tensors.
    public long byteSize() {
        return byteSize;
    }

    /// This rank's entry; null if it is not submitted yet, or if this rank has joined.
    public @Nullable TensorEntry<?> entry(int index) {
        TensorEntry.QueueSlot slot = slots[index];
        return submitted[index] && slot != null ? slot.tensorEntry() : null;
    }

    /// Whether the place has no entry.
    public boolean isFree(int index) {
        return !submitted[index];
    }

    /// Adds this rank's entry, which has a slot.
    @SuppressWarnings("ReferenceEquality") // a name has the same slot in each step
    public void put(int index, TensorEntry<?> tensorEntry) {
        TensorEntry.QueueSlot slot =
                Objects.requireNonNull(tensorEntry.slot(), "it is in the queue");
        if (slots[index] != slot) { // a read costs less than a write
            slots[index] = slot;
        }
        submitted[index] = true;
        missing--;
    }

    /// Whether all its entries are submitted.
    public boolean isFilled() {
        return missing == 0;
    }

    /// Passes the result of an operation to this rank's entry, if there is one.
    @SuppressWarnings("unchecked") // the kind of operation determines the type of the result
    public void result(int index, Object result) {
        TensorEntry<?> tensorEntry = entry(index);
        if (tensorEntry != null) {
            ((TensorEntry<Object>) tensorEntry).setResult(result);
        }
    }

    /// Removes the entries, for the next step.
    public void clear() {
        Arrays.fill(submitted, false);
        missing = slots.length;
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
