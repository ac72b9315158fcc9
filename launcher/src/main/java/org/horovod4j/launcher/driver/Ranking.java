package org.horovod4j.launcher.driver;

import org.horovod4j.launcher.plan.Host;
import org.horovod4j.launcher.plan.HostPlan;
import org.horovod4j.launcher.plan.Slot;

import java.util.ArrayList;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
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
        List<Host> hosts =
                byHost.entrySet().stream()
                        .map(host -> new Host(host.getKey(), host.getValue().size()))
                        .toList();
        List<Slot> slots = HostPlan.of(hosts, workers.size()).slots();

        SequencedMap<Worker, Slot> ranked = new LinkedHashMap<>();
        for (List<Worker> onHost : byHost.values()) {
            List<Integer> indices = onHost.stream().map(Worker::slot).sorted().toList();
            int firstRank = ranked.size();
            for (Worker worker : onHost) {
                int localRank = Collections.binarySearch(indices, worker.slot());
                ranked.put(worker, slots.get(firstRank + localRank).withRank(ranked.size()));
            }
        }
        return ranked;
    }
}
