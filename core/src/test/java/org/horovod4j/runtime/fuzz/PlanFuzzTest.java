package org.horovod4j.runtime.fuzz;

import org.horovod4j.testing.Layout;
import org.horovod4j.testing.World.Transport;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.SplittableRandom;
import java.util.TreeSet;
import java.util.stream.IntStream;
import java.util.stream.Stream;

/// Programs that repeat, change and fail, in random order from several threads: every result is
/// correct. To repeat a failure, run with `-Dhorovod4j.seed=` and the seed in its name.
class PlanFuzzTest {
    private static final long SEED =
            Long.getLong("horovod4j.seed", System.nanoTime() & Integer.MAX_VALUE);
    private static final int WORLDS = 10;
    private static final int STEPS = 100;
    private static final int MANY_WORLDS = 80;
    private static final int MANY_STEPS = 500;

    static Stream<Arguments> someWorlds() {
        return worlds(WORLDS);
    }

    static Stream<Arguments> manyWorlds() {
        return worlds(MANY_WORLDS);
    }

    private static Stream<Arguments> worlds(int count) {
        return IntStream.range(0, count)
                .mapToObj(
                        i -> {
                            SplittableRandom random = new SplittableRandom(SEED + i);
                            return Arguments.of(SEED + i, layout(random), options(random));
                        });
    }

    private static Layout layout(SplittableRandom random) {
        int size = 2 + random.nextInt(4);
        List<Transport> all = List.of(Transport.values());
        Transport transport = all.get(random.nextInt(all.size()));
        int hosts = transport == Transport.TCP ? 1 : 1 + random.nextInt(Math.min(size, 3));
        return new Layout(size, hosts, transport);
    }

    private static Map<String, String> options(SplittableRandom random) {
        Map<String, String> options = new HashMap<>();
        if (random.nextInt(3) == 0) {
            options.put("HOROVOD_FUSION_THRESHOLD", random.nextBoolean() ? "0" : "2000");
        }
        if (random.nextInt(3) == 0) {
            options.put("HOROVOD_CACHE_CAPACITY", random.nextBoolean() ? "0" : "3");
        }
        if (random.nextInt(4) == 0) {
            options.put("HOROVOD_PLAN_LOCKING", "0");
        }
        if (random.nextInt(4) == 0) {
            options.put("HOROVOD_DISABLE_GROUP_FUSION", "1");
        }
        return options;
    }

    @Timeout(value = 120, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
    @ParameterizedTest(name = "seed {0}: {1}, {2}")
    @MethodSource("someWorlds")
    void everyResultIsCorrect(long seed, Layout layout, Map<String, String> options) {
        play(seed, layout, options, STEPS);
    }

    /// About ten minutes.
    @Tag("slow")
    @Timeout(value = 600, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
    @ParameterizedTest(name = "seed {0}: {1}, {2}")
    @MethodSource("manyWorlds")
    void everyResultIsCorrectInALongRun(long seed, Layout layout, Map<String, String> options) {
        play(seed, layout, options, MANY_STEPS);
    }

    private static void play(long seed, Layout layout, Map<String, String> options, int steps) {
        List<Set<Integer>> sets = sets(seed, layout.size());
        List<FuzzStep> script = FuzzScript.of(seed, layout.size(), sets, steps);
        layout.world().with(options).run(FuzzRank.worldBody(script, seed, sets, layout.size()));
    }

    /// None, or two that overlap, in worlds large enough for them.
    private static List<Set<Integer>> sets(long seed, int ranks) {
        List<Set<Integer>> sets = new ArrayList<>();
        if (ranks > 2 && seed % 2 == 0) {
            sets.add(new TreeSet<>(IntStream.range(1, ranks).boxed().toList()));
            sets.add(Set.of(0, ranks - 1));
        }
        return sets;
    }
}
