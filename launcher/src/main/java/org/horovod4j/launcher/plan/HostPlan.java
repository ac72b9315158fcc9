package org.horovod4j.launcher.plan;

import org.horovod4j.ConfigurationException;

import java.util.ArrayList;
import java.util.List;

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
        List<Host> used = usedHosts(hosts, processes);
        List<Slot> slots = new ArrayList<>();
        for (int index = 0; index < used.size(); index++) {
            Host host = used.get(index);
            for (int localRank = 0; localRank < host.slots(); localRank++) {
                slots.add(
                        new Slot(
                                host.name(),
                                slots.size(),
                                processes,
                                localRank,
                                host.slots(),
                                countHostsWithLocalRank(localRank, used.subList(0, index)),
                                countHostsWithLocalRank(localRank, used)));
            }
        }
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
                    ("%d processes do not fit: the hosts have %d slots in all (%s). Ask for fewer, or"
                                    + " give the hosts more slots.")
                            .formatted(processes, processes - left, describe(hosts)));
        }
        return used;
    }

    private static int countHostsWithLocalRank(int localRank, List<Host> hosts) {
        return (int) hosts.stream().filter(host -> host.slots() > localRank).count();
    }

    private static String describe(List<Host> hosts) {
        return String.join(", ", hosts.stream().map(Host::toString).toList());
    }
}
