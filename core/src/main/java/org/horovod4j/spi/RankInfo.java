package org.horovod4j.spi;

import java.net.InetSocketAddress;
import java.security.SecureRandom;
import java.util.List;

/// What each rank publishes when it joins.
///
/// @param rank its rank in the world
/// @param host the name of its host, as in the launcher
/// @param machine identifies its machine; ranks of one machine or of one host name have one host,
///     which determines local and cross ranks
/// @param domain ranks with the same domain can map each other's memory; empty if it shares with
///     none
/// @param pid its process id, which ranks in different containers may share
/// @param jvm a random number that tells JVMs apart, wherever they run
/// @param memory where the ranks of its domain find its memory; empty if it has none
/// @param addresses the addresses of its listener, the most likely one first
public record RankInfo(
        int rank,
        String host,
        String machine,
        String domain,
        long pid,
        long jvm,
        String memory,
        List<InetSocketAddress> addresses) {
    private static final long THIS_JVM = new SecureRandom().nextLong();

    public RankInfo {
        addresses = List.copyOf(addresses);
    }

    /// A rank of this JVM.
    public RankInfo(
            int rank,
            String host,
            String machine,
            String domain,
            long pid,
            String memory,
            List<InetSocketAddress> addresses) {
        this(rank, host, machine, domain, pid, THIS_JVM, memory, addresses);
    }
}
