package org.horovod4j.launcher.driver;

import org.horovod4j.launcher.plan.Host;

import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;

/// The words for decisions.
final class DriverMessages {
    /// Why a worker on a lost host counts as failed.
    static final String HOST_LOST = "contact with its host was lost";

    private DriverMessages() {}

    /// As in "generation 1: 3 workers (gpu1:1, gpu2:2), with worker 4, state from worker 0".
    static String describe(int generation, List<WorkerState> members, boolean sync) {
        Map<String, Integer> byHost = new LinkedHashMap<>();
        members.forEach(workerState -> byHost.merge(workerState.worker().host(), 1, Integer::sum));
        String hosts =
                byHost.entrySet().stream()
                        .map(host -> new Host(host.getKey(), host.getValue()).toString())
                        .collect(Collectors.joining(", "));
        String text =
                "generation %d: %d %s (%s)"
                        .formatted(
                                generation,
                                members.size(),
                                members.size() == 1 ? "worker" : "workers",
                                hosts);
        if (generation == 0) {
            return text;
        }
        List<Worker> joining =
                members.stream()
                        .filter(workerState -> !workerState.hasParticipated())
                        .map(WorkerState::worker)
                        .toList();
        return text
                + (joining.isEmpty() ? "" : ", with " + numbers("worker", joining))
                + (sync ? ", state from worker " + members.getFirst().worker().number() : "");
    }

    static String describe(List<Host> hosts) {
        return hosts.isEmpty()
                ? "none"
                : hosts.stream().map(Host::toString).collect(Collectors.joining(", "));
    }

    /// As in "workers 2, 3".
    static String numbers(String noun, List<Worker> workers) {
        return workers.stream()
                .map(worker -> Integer.toString(worker.number()))
                .collect(Collectors.joining(", ", noun + (workers.size() == 1 ? " " : "s "), ""));
    }

    static String blacklisted(String host, Duration length) {
        return "Host %s is blacklisted: nothing is started there for %d s."
                .formatted(host, length.toSeconds());
    }
}
