package org.horovod4j.transport;

import org.horovod4j.spi.RankInfo;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/// Which ranks run where. Hosts determine the local and cross ranks that users see; domains are
/// groups of ranks that share memory.
///
/// Ranks of one machine are on one host, even if users gave it several names.
///
/// @param rank this rank
/// @param hosts the ranks of each host, ascending; hosts are ordered by their first rank
/// @param domains the ranks of each memory domain, ascending; domains are ordered by their first
///     rank
public record Topology(int rank, List<List<Integer>> hosts, List<List<Integer>> domains) {
    public Topology {
        hosts = hosts.stream().map(List::copyOf).toList();
        domains = domains.stream().map(List::copyOf).toList();
    }

    /// The topology of `members` as `rank` sees it.
    public static Topology of(int rank, List<RankInfo> members) {
        Map<String, String> firstNames = firstNames(members);
        Map<String, List<Integer>> hosts = new LinkedHashMap<>();
        Map<String, List<Integer>> domains = new LinkedHashMap<>();
        for (RankInfo rankInfo : members) {
            String host = firstNames.getOrDefault(rankInfo.host(), rankInfo.host());
            hosts.computeIfAbsent(host, _ -> new ArrayList<>()).add(rankInfo.rank());
            String domain =
                    rankInfo.domain().isEmpty() ? "rank " + rankInfo.rank() : rankInfo.domain();
            domains.computeIfAbsent(domain, _ -> new ArrayList<>()).add(rankInfo.rank());
        }
        return new Topology(rank, List.copyOf(hosts.values()), List.copyOf(domains.values()));
    }

    /// For each name of a host the first name by which `members` know it.
    public static Map<String, String> firstNames(List<RankInfo> members) {
        Map<String, String> byName = new LinkedHashMap<>();
        Map<String, String> byMachine = new HashMap<>();
        for (RankInfo each : members) {
            String known = byMachine.getOrDefault(each.machine(), each.host());
            String first = byName.computeIfAbsent(each.host(), _ -> known);
            byMachine.putIfAbsent(each.machine(), first);
        }
        return byName;
    }

    public int size() {
        return hosts.stream().mapToInt(List::size).sum();
    }

    public int localRank() {
        return host().indexOf(rank);
    }

    public int localSize() {
        return host().size();
    }

    /// The index of this host among the hosts that have this local rank.
    public int crossRank() {
        return (int)
                hosts.subList(0, hosts.indexOf(host())).stream().filter(this::hasLocalRank).count();
    }

    /// The number of hosts that have this local rank.
    public int crossSize() {
        return (int) hosts.stream().filter(this::hasLocalRank).count();
    }

    public boolean isHomogeneous() {
        return hosts.stream().allMatch(ranks -> ranks.size() == hosts.getFirst().size());
    }

    /// The ranks that share memory with this rank, including this rank.
    public List<Integer> domain() {
        return containing(domains);
    }

    /// The index of this rank's domain in [#domains].
    public int domainIndex() {
        return domains.indexOf(domain());
    }

    /// The size of the smallest domain.
    public int smallestDomainSize() {
        return domains.stream().mapToInt(List::size).min().orElseThrow();
    }

    private List<Integer> host() {
        return containing(hosts);
    }

    private boolean hasLocalRank(List<Integer> host) {
        return host.size() > localRank();
    }

    private List<Integer> containing(List<List<Integer>> groups) {
        return groups.stream().filter(ranks -> ranks.contains(rank)).findFirst().orElseThrow();
    }
}
