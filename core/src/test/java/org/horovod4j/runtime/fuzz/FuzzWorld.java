package org.horovod4j.runtime.fuzz;

import org.horovod4j.testing.Layout;
import org.horovod4j.testing.World.Transport;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.SplittableRandom;
import java.util.TreeSet;
import java.util.stream.IntStream;

/// A random world for a program that repeats, changes and fails, in random order from several
/// threads.
///
/// @param seed decides everything else, the program included
/// @param layout of its ranks
/// @param options of its ranks
public record FuzzWorld(long seed, Layout layout, Map<String, String> options) {
    public static FuzzWorld of(long seed) {
        SplittableRandom random = new SplittableRandom(seed);
        return new FuzzWorld(seed, layout(random), options(random));
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

    /// Runs the program. Throws if a result is wrong; the message begins with the seed, because not
    /// every report shows the name of a test.
    public void run(int steps) {
        List<Set<Integer>> sets = sets(layout.size());
        List<FuzzStep> script = FuzzScript.of(seed, layout.size(), sets, steps);
        try {
            layout.world().with(options).run(FuzzRank.worldBody(script, seed, sets, layout.size()));
        } catch (RuntimeException | Error e) {
            throw new AssertionError("seed %d: %s: %s".formatted(seed, this, e.getMessage()), e);
        }
    }

    /// None, or two that overlap, in worlds large enough for them.
    private List<Set<Integer>> sets(int ranks) {
        List<Set<Integer>> sets = new ArrayList<>();
        if (ranks > 2 && seed % 2 == 0) {
            sets.add(new TreeSet<>(IntStream.range(1, ranks).boxed().toList()));
            sets.add(Set.of(0, ranks - 1));
        }
        return sets;
    }

    @Override
    public String toString() {
        return "%s, %s".formatted(layout, options);
    }
}
