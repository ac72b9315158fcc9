package org.horovod4j.launcher.plan;

import org.horovod4j.ConfigurationException;
import org.horovod4j.text.MessageText;

import java.util.ArrayList;
import java.util.Collections;
import java.util.Comparator;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.SequencedMap;
import java.util.function.UnaryOperator;

/// The slots of a job, by rank. Hosts are filled in the given order, so the ranks of a host are
/// consecutive and a ring over all ranks leaves each host once.
///
/// A cross group has the ranks of equal local rank, one per host. For `a:1,b:2` the two processes
/// of local rank 0 form one cross group, and the second process of `b` is alone in another.
public record HostPlan(List<Slot> slots) {
    public HostPlan {
        slots = List.copyOf(slots);
    }

    /// The plan for this number of processes on these hosts.
    ///
    /// @throws ConfigurationException when the hosts have fewer slots than there are processes
    public static HostPlan of(List<Host> hosts, int processes) {
        List<String> hostByRank = new ArrayList<>();
        for (Host host : usedHosts(hosts, processes)) {
            hostByRank.addAll(Collections.nCopies(host.slots(), host.name()));
        }
        return number(hostByRank, hostByRank);
    }

    /// The same places, with local and cross ranks that count machines. A machine may have several
    /// names.
    ///
    /// @param machine the machine of each host
    public HostPlan countedBy(UnaryOperator<String> machine) {
        List<String> hostByRank = slots.stream().map(Slot::host).toList();
        Map<String, String> machines = new HashMap<>();
        hostByRank.forEach(host -> machines.computeIfAbsent(host, machine));
        return number(
                hostByRank,
                hostByRank.stream().map(host -> machines.getOrDefault(host, host)).toList());
    }

    private static HostPlan number(List<String> hostByRank, List<String> machineByRank) {
        SequencedMap<String, List<Integer>> ranks = new LinkedHashMap<>();
        List<Slot> slots = new ArrayList<>();
        for (int rank = 0; rank < machineByRank.size(); rank++) {
            ranks.computeIfAbsent(machineByRank.get(rank), _ -> new ArrayList<>()).add(rank);
        }
        List<List<Integer>> machines = List.copyOf(ranks.values());
        for (int index = 0; index < machines.size(); index++) {
            List<Integer> own = machines.get(index);
            for (int localRank = 0; localRank < own.size(); localRank++) {
                slots.add(
                        new Slot(
                                hostByRank.get(own.get(localRank)),
                                own.get(localRank),
                                hostByRank.size(),
                                localRank,
                                own.size(),
                                countWithLocalRank(localRank, machines.subList(0, index)),
                                countWithLocalRank(localRank, machines)));
            }
        }
        slots.sort(Comparator.comparingInt(Slot::rank));
        return new HostPlan(slots);
    }

    /// The hosts that get processes, each with the number it gets as its slots.
    ///
    /// @throws ConfigurationException when the hosts have fewer slots than there are processes
    public static List<Host> usedHosts(List<Host> hosts, int processes) {
        List<Host> used = new ArrayList<>();
        int left = processes;
        for (Host host : hosts) {
            if (left > 0) {
                used.add(new Host(host.name(), Math.min(host.slots(), left), host.login()));
                left -= Math.min(host.slots(), left);
            }
        }
        if (left > 0) {
            throw new ConfigurationException(
                    ("%d processes do not fit: the hosts have %s in all (%s). Ask for fewer, or"
                                    + " give the hosts more slots.")
                            .formatted(
                                    processes,
                                    MessageText.count(processes - left, "slot"),
                                    describe(hosts)));
        }
        return used;
    }

    private static int countWithLocalRank(int localRank, List<List<Integer>> machines) {
        return (int) machines.stream().filter(ranks -> ranks.size() > localRank).count();
    }

    private static String describe(List<Host> hosts) {
        return String.join(", ", hosts.stream().map(Host::toString).toList());
    }
}
