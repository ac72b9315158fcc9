package org.horovod4j.spi;

import java.net.InetSocketAddress;
import java.util.List;

/// What a rank tells the others about itself when it joins.
///
/// @param rank its number in the world
/// @param host the name of its host, as the launcher calls it: decides local and cross ranks
/// @param domain ranks with equal keys can map each other's memory; empty when it shares with none
/// @param pid its process
/// @param memory where the ranks of its domain find its memory; empty without one
/// @param addresses where its listener might be reached, likeliest first
public record RankInfo(
        int rank,
        String host,
        String domain,
        long pid,
        String memory,
        List<InetSocketAddress> addresses) {
    public RankInfo {
        addresses = List.copyOf(addresses);
    }
}
