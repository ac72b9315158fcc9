package org.horovod4j.launcher;

import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Random;
import java.util.Set;
import java.util.stream.Collectors;

/// Selects the workers that random faults may hit. The job survives as long as one worker has the
/// state and keeps its place. Two workers are spared, since one of them may leave for another
/// reason.
///
/// Not thread-safe.
final class FaultTargets {
    /// How long the launcher takes at most to act on a list of hosts.
    private static final Duration LIST_DELAY = Duration.ofSeconds(10);

    /// The most slots of a host: each worker on a host with that many keeps its place.
    static final int ALL_SLOTS = 2;

    private static final int MIN_SURVIVORS = 2;

    /// A list of hosts that the script printed, until it printed another.
    private static final class HostListing {
        private final Map<String, Integer> slots;
        private long replacedNanos = Long.MAX_VALUE;

        HostListing(Map<String, Integer> slots) {
            this.slots = Map.copyOf(slots);
        }
    }

    private final Random random;
    private final List<HostListing> listings = new ArrayList<>();
    private final Set<Integer> stopped = new HashSet<>();

    FaultTargets(Random random) {
        this.random = random;
    }

    void hostsListed(Map<String, Integer> slots) {
        long now = System.nanoTime();
        if (!listings.isEmpty()) {
            listings.getLast().replacedNanos = now;
        }
        listings.removeIf(it -> it.replacedNanos < now - LIST_DELAY.toNanos());
        listings.add(new HostListing(slots));
    }

    /// A stopped worker counts as lost.
    void workerStopped(int worker) {
        stopped.add(worker);
    }

    /// Workers that may be lost together, in any order. Only new ones if too few others would keep
    /// the state. None if all that have the state are leaving: a new one may have got it meanwhile.
    List<Integer> victims(ElasticRun run) {
        Set<Integer> alive = run.workers().keySet();
        List<ElasticRun.GenerationStart> begun =
                run.generationStarts().stream().filter(it -> alive.contains(it.worker())).toList();
        List<Integer> keepers =
                begun.stream()
                        .filter(it -> hasAllSlots(it.host()) && !stopped.contains(it.worker()))
                        .map(ElasticRun.GenerationStart::worker)
                        .distinct()
                        .collect(Collectors.toCollection(ArrayList::new));
        if (keepers.isEmpty() && !begun.isEmpty()) {
            return List.of();
        }
        Collections.shuffle(keepers, random);
        Set<Integer> spared =
                keepers.size() < MIN_SURVIVORS
                        ? begun.stream()
                                .map(ElasticRun.GenerationStart::worker)
                                .collect(Collectors.toSet())
                        : Set.copyOf(keepers.subList(0, MIN_SURVIVORS));
        List<Integer> victims =
                alive.stream()
                        .filter(it -> !spared.contains(it))
                        .collect(Collectors.toCollection(ArrayList::new));
        Collections.shuffle(victims, random);
        return victims;
    }

    private boolean hasAllSlots(String host) {
        long now = System.nanoTime();
        return listings.stream()
                .filter(it -> it.replacedNanos >= now - LIST_DELAY.toNanos())
                .allMatch(it -> Objects.equals(it.slots.get(host), ALL_SLOTS));
    }
}
