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
/// - The ranks of a host are consecutive. Hosts are ordered by their senior workers, so that new
///   hosts come last and workers that stay keep their ranks.
/// - Local ranks follow the slots of the host, not the ranks: a worker that took device 1 keeps
///   local rank 1 when a new worker replaces the one beside it.
final class Ranking {
    private Ranking() {}

    /// Assigns ranks.
    ///
    /// @param workers of the generation, by seniority
    /// @return their slots, by rank
    static SequencedMap<Worker, Slot> of(List<Worker> workers) {
        SequencedMap<String, List<Worker>> byHost = new LinkedHashMap<>();
        workers.forEach(
                worker ->
                        byHost.computeIfAbsent(worker.host(), _ -> new ArrayList<>()).add(worker));
        List<Integer> sizes = byHost.values().stream().map(List::size).toList();

        SequencedMap<Worker, Slot> ranked = new LinkedHashMap<>();
        int hostsBefore = 0;
        for (Map.Entry<String, List<Worker>> host : byHost.entrySet()) {
            List<Integer> slots = host.getValue().stream().map(Worker::slot).sorted().toList();
            for (Worker worker : host.getValue()) {
                int localRank = Collections.binarySearch(slots, worker.slot());
                ranked.put(
                        worker,
                        new Slot(
                                host.getKey(),
                                ranked.size(),
                                workers.size(),
                                localRank,
                                slots.size(),
                                countHostsWithLocalRank(localRank, sizes.subList(0, hostsBefore)),
                                countHostsWithLocalRank(localRank, sizes)));
            }
            hostsBefore++;
        }
        return ranked;
    }

    private static int countHostsWithLocalRank(int localRank, List<Integer> sizes) {
        return (int) sizes.stream().filter(size -> size > localRank).count();
    }
}
