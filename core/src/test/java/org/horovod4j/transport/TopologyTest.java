package org.horovod4j.transport;

import static org.assertj.core.api.Assertions.assertThat;

import org.horovod4j.spi.RankInfo;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import java.util.List;
import java.util.stream.IntStream;

class TopologyTest {
    /// The topology of every rank. Rank `r` runs on `machines[r]`, which it knows as `hosts[r]`, and
    /// shares memory in `domains[r]`.
    private static List<Topology> topologies(String[] hosts, String[] machines, String[] domains) {
        List<RankInfo> members =
                IntStream.range(0, hosts.length)
                        .mapToObj(
                                rank ->
                                        new RankInfo(
                                                rank,
                                                hosts[rank],
                                                machines[rank],
                                                domains[rank],
                                                1,
                                                "",
                                                List.of()))
                        .toList();
        return members.stream().map(rankInfo -> Topology.of(rankInfo.rank(), members)).toList();
    }

    private static List<Topology> topologies(String... hosts) {
        return topologies(hosts, hosts, hosts);
    }

    @Test
    void twoHostsOfTwoSlots() {
        List<Topology> ranks = topologies("w0", "w0", "w1", "w1");
        assertThat(ranks).extracting(Topology::size).containsOnly(4);
        assertThat(ranks).extracting(Topology::localRank).containsExactly(0, 1, 0, 1);
        assertThat(ranks).extracting(Topology::localSize).containsOnly(2);
        assertThat(ranks).extracting(Topology::crossRank).containsExactly(0, 0, 1, 1);
        assertThat(ranks).extracting(Topology::crossSize).containsOnly(2);
        assertThat(ranks).extracting(Topology::isHomogeneous).containsOnly(true);
    }

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void namesOfOneMachineAreOneHost(boolean shareMemory) {
        String[] machines = {"m0", "m1", "m0", "m1"};
        List<Topology> ranks =
                topologies(
                        new String[] {"w0", "w1", "w0.local", "w1"},
                        machines,
                        shareMemory ? machines : new String[] {"", "", "", ""});
        assertThat(ranks).extracting(Topology::localRank).containsExactly(0, 0, 1, 1);
        assertThat(ranks).extracting(Topology::localSize).containsOnly(2);
        assertThat(ranks).extracting(Topology::crossRank).containsExactly(0, 1, 0, 1);
        assertThat(ranks).extracting(Topology::crossSize).containsOnly(2);
    }

    @Test
    void oneSlotAndTwoSlots() {
        List<Topology> ranks = topologies("w0", "w1", "w1");
        assertThat(ranks).extracting(Topology::localRank).containsExactly(0, 0, 1);
        assertThat(ranks).extracting(Topology::localSize).containsExactly(1, 2, 2);
        assertThat(ranks).extracting(Topology::crossRank).containsExactly(0, 1, 0);
        assertThat(ranks).extracting(Topology::crossSize).containsExactly(2, 2, 1);
        assertThat(ranks).extracting(Topology::isHomogeneous).containsOnly(false);
    }

    @Test
    void ranksThatAlternateBetweenHosts() {
        List<Topology> ranks = topologies("w0", "w1", "w0", "w1", "w0");
        assertThat(ranks).extracting(Topology::localRank).containsExactly(0, 0, 1, 1, 2);
        assertThat(ranks).extracting(Topology::crossSize).containsExactly(2, 2, 2, 2, 1);
        assertThat(ranks.get(3).domain()).containsExactly(1, 3);
        assertThat(ranks.get(3).domainIndex()).isEqualTo(1);
        assertThat(ranks.get(3).smallestDomainSize()).isEqualTo(2);
    }

    @Test
    void ranksWithoutSharedMemoryAreSeparateDomains() {
        String[] hosts = {"w0", "w0", "w0"};
        List<Topology> ranks = topologies(hosts, hosts, new String[] {"", "a", ""});
        assertThat(ranks).extracting(Topology::localRank).containsExactly(0, 1, 2);
        assertThat(ranks.getFirst().domains()).containsExactly(List.of(0), List.of(1), List.of(2));
    }

    @Test
    void singleRank() {
        Topology alone = topologies("w0").getFirst();
        assertThat(alone.size()).isEqualTo(1);
        assertThat(alone.crossSize()).isEqualTo(1);
        assertThat(alone.isHomogeneous()).isTrue();
    }
}
