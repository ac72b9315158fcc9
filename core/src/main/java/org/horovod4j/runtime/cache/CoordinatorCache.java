package org.horovod4j.runtime.cache;

import org.horovod4j.runtime.message.Request;
import org.jspecify.annotations.Nullable;

import java.util.ArrayDeque;
import java.util.Deque;
import java.util.HashMap;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/// The coordinator's cache of requests. It evicts the least recently used one.
///
/// A rank may still request a slot whose eviction it has not seen. So an evicted request is kept
/// until every rank has seen the eviction.
public final class CoordinatorCache {
    private final int capacity;
    private final long[] acknowledged;

    /// By name, least recently used first.
    private final LinkedHashMap<String, CacheEntry> live = new LinkedHashMap<>(16, 0.75f, true);

    private final Map<Integer, Request> requests = new HashMap<>();
    private final Deque<Eviction> unacknowledgedEvictions = new ArrayDeque<>();
    private int nextSlot;

    private record CacheEntry(int slot, Request request) {}

    /// @param message the number of the decision that evicts it
    private record Eviction(int slot, long message) {}

    /// @param capacity the number of cached requests; 0 caches none
    /// @param ranks the number of ranks
    public CoordinatorCache(int capacity, int ranks) {
        this.capacity = capacity;
        this.acknowledged = new long[ranks];
    }

    /// The request of a slot, or null if the slot does not exist.
    public @Nullable Request request(int slot) {
        return requests.get(slot);
    }

    /// The slot of a request that all ranks agree on, or -1 when it is not cached.
    public int slot(Request request) {
        CacheEntry known = live.get(request.name());
        return known != null && known.request.equals(request) ? known.slot : -1;
    }

    /// Caches a request that all ranks agree on.
    ///
    /// @param evicted receives the evicted slots
    /// @param message the number of the decision that will evict them
    /// @return its slot, or -1 when nothing is cached
    public int add(Request request, List<Integer> evicted, long message) {
        if (capacity == 0) {
            return -1;
        }
        CacheEntry old = live.remove(request.name());
        if (old != null) {
            evict(old.slot, evicted, message);
        } else if (live.size() == capacity) {
            Iterator<CacheEntry> eldest = live.values().iterator();
            evict(eldest.next().slot, evicted, message);
            eldest.remove();
        }
        int slot = nextSlot++;
        live.put(request.name(), new CacheEntry(slot, request));
        requests.put(slot, request);
        return slot;
    }

    private void evict(int slot, List<Integer> evicted, long message) {
        evicted.add(slot);
        unacknowledgedEvictions.add(new Eviction(slot, message));
    }

    /// Records the number of decisions that a rank has seen.
    public void acknowledge(int rank, long messages) {
        acknowledged[rank] = Math.max(acknowledged[rank], messages);
        long least = Long.MAX_VALUE;
        for (long each : acknowledged) {
            least = Math.min(least, each);
        }
        while (!unacknowledgedEvictions.isEmpty()
                && unacknowledgedEvictions.getFirst().message < least) {
            requests.remove(unacknowledgedEvictions.removeFirst().slot);
        }
    }
}
