package org.horovod4j.runtime.cache;

import org.horovod4j.runtime.message.Request;
import org.jspecify.annotations.Nullable;

import java.util.HashMap;
import java.util.Map;

/// A rank's copy of the cache.
public final class RankCache {
    private final Map<Integer, Request> requests = new HashMap<>();
    private final Map<String, Integer> slots = new HashMap<>();

    public void put(int slot, Request request) {
        requests.put(slot, request);
        slots.put(request.name(), slot);
    }

    public void remove(int slot) {
        Request request = requests.remove(slot);
        if (request != null) {
            slots.remove(request.name(), slot);
        }
    }

    /// The request of a slot, or null.
    public @Nullable Request request(int slot) {
        return requests.get(slot);
    }

    /// The slot of `request`, or -1 if it is new or has changed.
    public int slot(Request request) {
        Integer slot = slots.get(request.name());
        if (slot == null) {
            return -1;
        }
        Request known = requests.get(slot);
        boolean same =
                known != null
                        && request.matches(known)
                        && request.shared() == known.shared()
                        && request.call().equals(known.call());
        return same ? slot : -1;
    }
}
