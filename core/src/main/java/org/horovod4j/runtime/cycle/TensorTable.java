package org.horovod4j.runtime.cycle;

import static java.nio.charset.StandardCharsets.UTF_8;

import org.horovod4j.runtime.fusion.Plan;
import org.horovod4j.runtime.message.CollectiveKind;
import org.horovod4j.runtime.message.Request;
import org.horovod4j.runtime.queue.TensorEntry;
import org.horovod4j.spi.CompositeCall;
import org.jspecify.annotations.Nullable;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.atomic.AtomicInteger;

/// The names that a program uses: the entry in flight under each, and its places in the plan.
///
/// A name keeps its slot for the next step, up to a limit, so a step that repeats changes no map.
/// Not thread-safe: the lock of the [TensorQueue] guards it. Only [#inFlight] may be called without
/// the lock.
final class TensorTable {
    private static final int MAX_SLOTS = 1 << 14;

    private final Map<String, Slot> byName = new HashMap<>();

    /// The composite calls in flight, by the name that the program gave.
    private final Map<String, CallInFlight> calls = new HashMap<>();

    /// The call whose operation was added or removed last. The operations of a group follow each other,
    /// so this saves three lookups for each of them.
    private CallInFlight lastCall = new CallInFlight(CompositeCall.NONE);

    /// The slot of the last entry that was added. Most programs use names in the same order in each
    /// step, so it often knows the next slot. That saves a lookup.
    private Slot last = new Slot("");

    /// Written under the lock, read without it.
    private final AtomicInteger inFlight = new AtomicInteger();

    private static final class Slot implements TensorEntry.QueueSlot {
        /// Empty when the slot is no longer in the table.
        private String name;

        /// The slot that was used after this one.
        private @Nullable Slot next;

        private @Nullable TensorEntry<?> tensorEntry;
        private Plan.@Nullable Places places;

        Slot(String name) {
            this.name = name;
        }

        @Override
        public @Nullable TensorEntry<?> tensorEntry() {
            return tensorEntry;
        }
    }

    private static final class CallInFlight {
        private final CompositeCall call;

        /// The number of its operations in flight.
        private int parts;

        CallInFlight(CompositeCall call) {
            this.call = call;
        }
    }

    /// The number of entries in flight.
    int inFlight() {
        return inFlight.getAcquire();
    }

    /// Adds all entries, or none if one cannot be added.
    ///
    /// @throws IllegalArgumentException when a name is in flight already, or is no valid text
    void add(List<? extends TensorEntry<?>> entries) {
        int added = 0;
        try {
            for (TensorEntry<?> tensorEntry : entries) {
                add(tensorEntry);
                added++;
            }
        } catch (RuntimeException e) {
            entries.subList(0, added).forEach(this::remove);
            throw e;
        }
    }

    /// Like [#add(List)] for one entry, without a list.
    void add(TensorEntry<?> tensorEntry) {
        Request request = tensorEntry.request();
        Slot slot = nextSlot(request.name());
        if (slot.tensorEntry != null) {
            throw request.collectiveKind() == CollectiveKind.BARRIER
                    ? new IllegalArgumentException("a barrier is in flight already: wait for it")
                    : inFlightAlready(request.name());
        }
        addCall(request);
        slot.tensorEntry = tensorEntry;
        tensorEntry.setSlot(slot);
        addInFlight(1);
    }

    private void addInFlight(int count) {
        inFlight.setRelease(inFlight.getPlain() + count);
    }

    /// A program may use a name for one call at a time. The operations of a composite call have
    /// names of their own, so the name that the program gave is checked too.
    @SuppressWarnings("ReferenceEquality") // two calls may have equal descriptions
    private void addCall(Request request) {
        if (lastCall.call == request.call() && lastCall.parts > 0) {
            lastCall.parts++;
            return;
        }
        String name = request.programName();
        if (!request.isPart()) {
            if (!calls.isEmpty() && calls.containsKey(name)) {
                throw inFlightAlready(name);
            }
            return;
        }
        TensorEntry<?> sameName = find(name);
        if (sameName != null && !sameName.request().isPart()) {
            throw inFlightAlready(name);
        }
        CallInFlight inFlightCall =
                calls.computeIfAbsent(name, _ -> new CallInFlight(request.call()));
        if (inFlightCall.call != request.call()) {
            throw inFlightAlready(name);
        }
        inFlightCall.parts++;
        lastCall = inFlightCall;
    }

    @SuppressWarnings("ReferenceEquality") // as above
    private void removeCall(Request request) {
        if (calls.isEmpty() || !request.isPart()) {
            return;
        }
        if (lastCall.call != request.call()) {
            lastCall = Objects.requireNonNull(calls.get(request.programName()), "it was added");
        }
        if (--lastCall.parts == 0) {
            calls.remove(request.programName());
        }
    }

    /// The slot of a name. Looks first at the one that came next before.
    private Slot nextSlot(String name) {
        Slot before = last;
        Slot slot = before.next;
        if (slot == null || !slot.name.equals(name)) {
            slot = slot(name);
            if (!before.name.isEmpty()) { // or removed slots would keep each other in memory
                before.next = slot;
            }
        }
        last = slot;
        return slot;
    }

    private Slot slot(String name) {
        Slot slot = byName.get(name);
        if (slot == null) {
            checkEncodable(name);
            slot = new Slot(name);
            byName.put(name, slot);
        }
        return slot;
    }

    /// Half a surrogate pair would reach the other ranks as another name. Checked once for each new
    /// name, not for each operation.
    private static void checkEncodable(String name) {
        if (!UTF_8.newEncoder().canEncode(name)) {
            throw new IllegalArgumentException(
                    "'%s' is not valid Unicode: it has half of a surrogate pair; use another name"
                            .formatted(name));
        }
    }

    private static IllegalArgumentException inFlightAlready(String name) {
        return new IllegalArgumentException(
                """
                '%s' is in flight already: wait for its handle before you submit it again, or use \
                another name"""
                        .formatted(name));
    }

    /// Frees the name of an entry if it is in flight.
    void remove(TensorEntry<?> tensorEntry) {
        Slot slot = slotOf(tensorEntry);
        if (slot.tensorEntry != null) {
            slot.tensorEntry = null;
            addInFlight(-1);
            removeCall(tensorEntry.request());
            if (byName.size() > MAX_SLOTS && slot.places == null) {
                byName.remove(slot.name);
                slot.name = "";
                slot.next = null;
            }
        }
    }

    private static Slot slotOf(TensorEntry<?> tensorEntry) {
        return (Slot) Objects.requireNonNull(tensorEntry.slot(), "it was added");
    }

    /// The entry in flight under a name.
    @Nullable TensorEntry<?> find(String name) {
        Slot slot = byName.get(name);
        return slot == null ? null : slot.tensorEntry;
    }

    /// All entries in flight, in the order of submission.
    List<TensorEntry<?>> inSubmissionOrder() {
        List<TensorEntry<?>> entries = new ArrayList<>(inFlight());
        for (Slot slot : byName.values()) {
            if (slot.tensorEntry != null) {
                entries.add(slot.tensorEntry);
            }
        }
        entries.sort((one, other) -> Long.compare(one.sequence(), other.sequence()));
        return entries;
    }

    /// Assigns the places of a plan to its names.
    void assignPlan(Plan plan) {
        plan.places().forEach((name, places) -> slot(name).places = places);
    }

    /// Removes all places.
    void clearPlan() {
        byName.values().forEach(slot -> slot.places = null);
    }

    /// Puts an added entry into the next free place of its name.
    ///
    /// @return whether there was one
    boolean place(TensorEntry<?> tensorEntry) {
        Plan.Places places = slotOf(tensorEntry).places;
        return places != null && places.put(tensorEntry);
    }

    /// Removes all names.
    void clear() {
        byName.values().forEach(slot -> slot.tensorEntry = null);
        byName.clear();
        calls.clear();
        lastCall = new CallInFlight(CompositeCall.NONE);
        last = new Slot("");
        inFlight.setRelease(0);
    }
}
