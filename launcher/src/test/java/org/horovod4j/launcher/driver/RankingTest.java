package org.horovod4j.launcher.driver;

import static org.assertj.core.api.Assertions.assertThat;

import org.horovod4j.launcher.plan.Host;
import org.horovod4j.launcher.plan.HostPlan;
import org.horovod4j.launcher.plan.Slot;
import org.junit.jupiter.api.Test;

import java.util.ArrayList;
import java.util.Collection;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

class RankingTest {
    private static final Worker A0 = new Worker(0, "a", 0);
    private static final Worker A1 = new Worker(1, "a", 1);
    private static final Worker B2 = new Worker(2, "b", 0);
    private static final Worker B3 = new Worker(3, "b", 1);

    @Test
    void firstGenerationMatchesHostPlan() {
        assertThat(List.copyOf(Ranking.of(List.of(A0, A1, B2)).values()))
                .isEqualTo(HostPlan.of(List.of(new Host("a", 2), new Host("b", 1)), 3).slots());
    }

    @Test
    void newHostGetsLastRanks() {
        Map<Worker, Slot> before = Ranking.of(List.of(A0, A1));
        Map<Worker, Slot> after = Ranking.of(List.of(A0, A1, B2, B3));
        assertThat(rank(after, A0)).isEqualTo(rank(before, A0)).isZero();
        assertThat(rank(after, A1)).isEqualTo(rank(before, A1)).isEqualTo(1);
        assertThat(after.get(B3)).isEqualTo(new Slot("b", 3, 4, 1, 2, 1, 2));
    }

    @Test
    void survivorsAreRenumberedFromZero() {
        assertThat(Ranking.of(List.of(B2, B3)))
                .containsExactly(
                        Map.entry(B2, new Slot("b", 0, 2, 0, 2, 0, 1)),
                        Map.entry(B3, new Slot("b", 1, 2, 1, 2, 0, 1)));
    }

    @Test
    void replacementGetsLocalRankOfItsSlotAndLastRank() {
        Worker replacement = new Worker(4, "a", 0);
        Map<Worker, Slot> places = Ranking.of(List.of(A1, replacement));
        assertThat(places.get(A1)).isEqualTo(new Slot("a", 0, 2, 1, 2, 0, 1));
        assertThat(places.get(replacement)).isEqualTo(new Slot("a", 1, 2, 0, 2, 0, 1));
    }

    @Test
    void randomWorkersGetConsistentRanks() {
        long seed = System.nanoTime();
        Random random = new Random(seed);
        for (int round = 0; round < 500; round++) {
            List<Worker> workers = workers(random);
            var places = Ranking.of(workers);
            String description = "seed %d, %s".formatted(seed, places);
            Collection<Slot> slots = places.values();
            assertThat(slots.stream().map(Slot::rank))
                    .as(description)
                    .containsExactlyElementsOf(IntStream.range(0, workers.size()).boxed().toList());
            assertThat(places.firstEntry().getKey()).as(description).isEqualTo(workers.getFirst());
            Map<String, List<Slot>> byHost =
                    slots.stream().collect(Collectors.groupingBy(Slot::host));
            byHost.values().forEach(host -> assertHost(host, description));
            slots.stream()
                    .collect(Collectors.groupingBy(Slot::localRank))
                    .values()
                    .forEach(
                            cross ->
                                    assertThat(cross.stream().map(Slot::crossRank))
                                            .as(description)
                                            .containsExactlyElementsOf(
                                                    IntStream.range(0, cross.getFirst().crossSize())
                                                            .boxed()
                                                            .toList()));
        }
    }

    private static void assertHost(List<Slot> host, String description) {
        int first = host.getFirst().rank();
        for (int at = 0; at < host.size(); at++) {
            assertThat(host.get(at).rank()).as(description).isEqualTo(first + at);
            assertThat(host.get(at).localSize()).as(description).isEqualTo(host.size());
        }
        assertThat(host.stream().map(Slot::localRank))
                .as(description)
                .containsExactlyInAnyOrderElementsOf(
                        IntStream.range(0, host.size()).boxed().toList());
    }

    private static List<Worker> workers(Random random) {
        List<Worker> workers = new ArrayList<>();
        Set<String> taken = new HashSet<>();
        for (int number = 0; number < 1 + random.nextInt(12); number++) {
            String host = "host" + random.nextInt(4);
            int slot = random.nextInt(5);
            if (taken.add(host + slot)) {
                workers.add(new Worker(number, host, slot));
            }
        }
        return workers;
    }

    private static int rank(Map<Worker, Slot> places, Worker worker) {
        return places.entrySet().stream()
                .filter(entry -> entry.getKey().equals(worker))
                .findFirst()
                .orElseThrow()
                .getValue()
                .rank();
    }
}
