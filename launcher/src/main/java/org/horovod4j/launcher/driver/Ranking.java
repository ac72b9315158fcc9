package org.horovod4j.launcher.driver;

import org.horovod4j.launcher.plan.Slot;

import java.util.ArrayList;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.SequencedMap;

/// The ranks of one generation.
///
/// - Rank 0 is the senior worker, whose state the others get.
/// - The ranks of a host are neighbours; hosts follow by their senior workers, so that new hosts
///   come last and those who stay keep their ranks.
/// - Local ranks follow the slots of the host, not the ranks: a worker that took device 1 keeps
///   local rank 1 when a new worker replaces the one beside it.
final class Ranking {
    private Ranking() {}

    /// Gives workers their places.
    ///
    /// @param workers all of the generation, the senior one first
    /// @return their places, by rank
    static SequencedMap<Worker, Slot> of(List<Worker> workers) {
        SequencedMap<String, List<Worker>> byHost = new LinkedHashMap<>();
        workers.forEach(
                worker ->
                        byHost.computeIfAbsent(worker.host(), _ -> new ArrayList<>()).add(worker));
        List<Integer> sizes = byHost.values().stream().map(List::size).toList();

        SequencedMap<Worker, Slot> places = new LinkedHashMap<>();
        int hostsBefore = 0;
        for (Map.Entry<String, List<Worker>> host : byHost.entrySet()) {
            List<Integer> slots = host.getValue().stream().map(Worker::slot).sorted().toList();
            for (Worker worker : host.getValue()) {
                int localRank = Collections.binarySearch(slots, worker.slot());
                places.put(
                        worker,
                        new Slot(
                                host.getKey(),
                                places.size(),
                                workers.size(),
                                localRank,
                                slots.size(),
                                countHostsWithLocalRank(localRank, sizes.subList(0, hostsBefore)),
                                countHostsWithLocalRank(localRank, sizes)));
            }
            hostsBefore++;
        }
        return places;
    }

    private static int countHostsWithLocalRank(int localRank, List<Integer> sizes) {
        return (int) sizes.stream().filter(size -> size > localRank).count();
    }
}
