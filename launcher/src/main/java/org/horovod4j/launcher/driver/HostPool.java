package org.horovod4j.launcher.driver;

import org.horovod4j.launcher.plan.Host;
import org.horovod4j.text.MessageText;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.SequencedMap;
import java.util.Set;
import java.util.stream.Collectors;

/// The hosts of an elastic job, in the order in which they were found, and whether each is open.
final class HostPool {
    private enum Stage {
        OPENING,
        OPEN
    }

    private final SequencedMap<String, Host> listed = new LinkedHashMap<>();
    private final Map<String, Stage> stages = new HashMap<>();

    /// Sets the hosts that exist now. Hosts that stay keep their order.
    ///
    /// @return the changes, as in "gpu2:4 is new, gpu1 is gone"; empty when there is none
    String update(List<Host> found) {
        List<String> changes = new ArrayList<>();
        Set<String> names = found.stream().map(Host::name).collect(Collectors.toSet());
        for (String gone : new HashSet<>(listed.keySet())) {
            if (!names.contains(gone)) {
                listed.remove(gone);
                changes.add(gone + " is gone");
            }
        }
        for (Host host : found) {
            Host before = listed.put(host.name(), host);
            if (before == null) {
                changes.add(host + " is new");
            } else if (before.slots() != host.slots()) {
                changes.add(
                        "%s has %s now"
                                .formatted(host.name(), MessageText.count(host.slots(), "slot")));
            }
        }
        return String.join(", ", changes);
    }

    List<Host> listed() {
        return List.copyOf(listed.values());
    }

    /// Whether the slot of a worker still exists.
    boolean hasSlotFor(Worker worker) {
        Host host = listed.get(worker.host());
        return host != null && worker.slot() < host.slots();
    }

    void markOpening(String host) {
        stages.put(host, Stage.OPENING);
    }

    void markOpen(String host) {
        stages.put(host, Stage.OPEN);
    }

    void markClosed(String host) {
        stages.remove(host);
    }

    boolean isClosed(String host) {
        return !stages.containsKey(host);
    }

    boolean isOpen(String host) {
        return stages.get(host) == Stage.OPEN;
    }

    boolean anyOpening() {
        return stages.containsValue(Stage.OPENING);
    }

    /// Open hosts that are no longer listed.
    List<String> openButUnlisted() {
        return stages.keySet().stream()
                .filter(host -> isOpen(host) && !listed.containsKey(host))
                .sorted()
                .toList();
    }

    /// The listed hosts, for messages.
    @Override
    public String toString() {
        return listed.isEmpty()
                ? "none"
                : listed.values().stream().map(Host::toString).collect(Collectors.joining(", "));
    }
}
