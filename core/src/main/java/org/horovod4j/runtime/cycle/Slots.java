package org.horovod4j.runtime.cycle;

import org.horovod4j.runtime.fusion.Plan;
import org.horovod4j.runtime.queue.Entry;
import org.jspecify.annotations.Nullable;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;

/// The names that a program uses: what is in flight under each, and its places in the plan.
///
/// A name keeps its slot for the next step, unless there are too many: a step that repeats then
/// changes no map. Not safe for use by several threads: the lock of the [TensorQueue] guards it.
final class Slots {
    private static final int MAX_SLOTS = 1 << 14;

    private final Map<String, Slot> byName = new HashMap<>();
    private int inFlight;

    private static final class Slot implements Entry.Seat {
        private @Nullable Entry<?> entry;
        private Plan.@Nullable Places places;
    }

    /// How many entries are in flight.
    int inFlight() {
        return inFlight;
    }

    /// Takes entries in, all or none.
    ///
    /// @throws IllegalArgumentException when a name is in flight already
    void admit(List<? extends Entry<?>> entries) {
        for (int i = 0; i < entries.size(); i++) {
            if (!tryAdmit(entries.get(i))) {
                entries.subList(0, i).forEach(this::dismiss);
                throw inFlightAlready(entries.get(i).request().name());
            }
        }
    }

    /// The same for a single entry, without a list to make.
    void admit(Entry<?> entry) {
        if (!tryAdmit(entry)) {
            throw inFlightAlready(entry.request().name());
        }
    }

    private boolean tryAdmit(Entry<?> entry) {
        Slot slot = slot(entry.request().name());
        if (slot.entry != null) {
            return false;
        }
        slot.entry = entry;
        entry.take(slot);
        inFlight++;
        return true;
    }

    private Slot slot(String name) {
        Slot slot = byName.get(name);
        if (slot == null) {
            slot = new Slot();
            byName.put(name, slot);
        }
        return slot;
    }

    private static IllegalArgumentException inFlightAlready(String name) {
        return new IllegalArgumentException(
                """
                '%s' is in flight already: wait for its handle before you submit it again, or use \
                another name"""
                        .formatted(name));
    }

    /// Frees the name of an entry, if it is in flight.
    void dismiss(Entry<?> entry) {
        Slot slot = slotOf(entry);
        if (slot.entry != null) {
            slot.entry = null;
            inFlight--;
            if (byName.size() > MAX_SLOTS && slot.places == null) {
                byName.remove(entry.request().name());
            }
        }
    }

    private static Slot slotOf(Entry<?> entry) {
        return (Slot) Objects.requireNonNull(entry.seat(), "it was admitted");
    }

    /// The entry in flight under a name.
    @Nullable Entry<?> find(String name) {
        Slot slot = byName.get(name);
        return slot == null ? null : slot.entry;
    }

    /// All that is in flight, in the order of submission.
    List<Entry<?>> bySubmission() {
        List<Entry<?>> entries = new ArrayList<>(inFlight);
        for (Slot slot : byName.values()) {
            if (slot.entry != null) {
                entries.add(slot.entry);
            }
        }
        entries.sort((one, other) -> Long.compare(one.serial(), other.serial()));
        return entries;
    }

    /// Gives the names of a plan their places.
    void assign(Plan plan) {
        plan.places().forEach((name, places) -> slot(name).places = places);
    }

    /// Takes all places away.
    void unassign() {
        byName.values().forEach(slot -> slot.places = null);
    }

    /// Puts an admitted entry into the next free place of its name.
    ///
    /// @return whether there was one
    boolean place(Entry<?> entry) {
        Plan.Places places = slotOf(entry).places;
        return places != null && places.put(entry);
    }

    /// Forgets everything.
    void clear() {
        byName.values().forEach(slot -> slot.entry = null);
        byName.clear();
        inFlight = 0;
    }
}
