package org.horovod4j.runtime.fusion;

import org.horovod4j.runtime.message.Request;
import org.horovod4j.runtime.queue.TensorEntry;
import org.jspecify.annotations.Nullable;

import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/// The batches of a repeated step, in the order in which all ranks run them.
///
/// Entries may be submitted in any order; each has its place by name. A name that occurs more than
/// once in a step takes its places in order.
public final class Plan {
    private final long number;
    private final List<Batch> batches;
    private final Map<String, Places> places = new HashMap<>();
    private int next;

    /// @param number identifies the plan
    /// @param requests of each batch
    public Plan(long number, List<List<Request>> requests) {
        this.number = number;
        this.batches = requests.stream().map(Batch::new).toList();
        Map<String, List<Place>> byName = new HashMap<>();
        for (int i = 0; i < batches.size(); i++) {
            Batch batch = batches.get(i);
            for (int j = 0; j < batch.size(); j++) {
                byName.computeIfAbsent(batch.requests().get(j).name(), _ -> new ArrayList<>())
                        .add(new Place(batch, i, j));
            }
        }
        byName.forEach((name, list) -> places.put(name, new Places(list.toArray(Place[]::new))));
    }

    public long number() {
        return number;
    }

    public List<Batch> batches() {
        return batches;
    }

    /// The number of batches of a step.
    public int size() {
        return batches.size();
    }

    /// Starts again at batch `start`, without entries.
    public void restart(int start) {
        next = start;
        batches.forEach(Batch::clear);
        places.values().forEach(each -> each.restart(start));
    }

    /// The places of each name, to be looked up once per plan.
    public Map<String, Places> places() {
        return Collections.unmodifiableMap(places);
    }

    /// The current batch if all its entries are submitted, else null.
    public @Nullable Batch ready() {
        Batch batch = batches.get(next);
        return batch.isFilled() ? batch : null;
    }

    /// Moves on to the next batch.
    public void advance() {
        batches.get(next).clear();
        next = next + 1 == batches.size() ? 0 : next + 1;
    }

    /// Whether the current batch is the first of a step.
    public boolean isAtStart() {
        return next == 0;
    }

    /// The index of the batch that begins with `request`, or -1.
    public int batchStartingWith(Request request) {
        Places known = places.get(request.name());
        return known == null ? -1 : known.batchStartingWith(request);
    }

    /// Whether `request` is in the plan.
    public boolean contains(Request request) {
        Places known = places.get(request.name());
        return known != null && known.contains(request);
    }

    /// A place in a batch.
    private static final class Place {
        final Batch batch;
        final int index;
        final int position;

        /// What an entry must match: the request that the ranks agreed on, or the last one of this
        /// program that matched. The shape of the latter is often the same object in each step.
        Request expected;

        Place(Batch batch, int index, int position) {
            this.batch = batch;
            this.index = index;
            this.position = position;
            this.expected = request();
        }

        Request request() {
            return batch.requests().get(position);
        }

        @SuppressWarnings("ReferenceEquality") // the shapes are equal, but may be two objects
        boolean put(TensorEntry<?> tensorEntry) {
            Request request = tensorEntry.request();
            if (!batch.isFree(position) || !request.matches(expected)) {
                return false;
            }
            if (request.shape() != expected.shape()) {
                expected = request;
            }
            batch.put(position, tensorEntry);
            return true;
        }
    }

    /// The places of one name, in the order of the step.
    public static final class Places {
        private final Place[] all;
        private int nextPlace;

        /// `all[nextPlace]`, which saves a look into the array.
        private Place place;

        private Places(Place[] all) {
            this.all = all;
            this.place = all[0];
        }

        private void restart(int start) {
            nextPlace = 0;
            while (nextPlace < all.length - 1 && all[nextPlace].index < start) {
                nextPlace++;
            }
            if (all[nextPlace].index < start) {
                nextPlace = 0;
            }
            place = all[nextPlace];
        }

        /// Puts an entry into the next place of this name.
        ///
        /// @return whether the place is free and the request matches
        public boolean put(TensorEntry<?> tensorEntry) {
            if (!place.put(tensorEntry)) {
                return false;
            }
            if (all.length > 1) {
                nextPlace = nextPlace + 1 == all.length ? 0 : nextPlace + 1;
                place = all[nextPlace];
            }
            return true;
        }

        private int batchStartingWith(Request request) {
            for (Place each : all) {
                if (each.position == 0 && request.matches(each.request())) {
                    return each.index;
                }
            }
            return -1;
        }

        private boolean contains(Request request) {
            for (Place each : all) {
                if (request.matches(each.request())) {
                    return true;
                }
            }
            return false;
        }
    }

    @Override
    public String toString() {
        return "plan %d of %d batches".formatted(number, batches.size());
    }
}
