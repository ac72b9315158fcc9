package org.horovod4j.collectives;

import org.horovod4j.testing.Layout;
import org.horovod4j.testing.RandomWorkload;
import org.horovod4j.testing.World.Transport;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

import java.util.List;
import java.util.SplittableRandom;
import java.util.stream.IntStream;
import java.util.stream.Stream;

/// Random operations in random worlds. To repeat a failure, run with `-Dhorovod4j.seed=` and the
/// seed in the name of the failed test.
class RandomOperationsTest {
    private static final long SEED =
            Long.getLong("horovod4j.seed", System.nanoTime() & Integer.MAX_VALUE);
    private static final int WORLDS = 12;
    private static final int OPERATIONS = 60;
    private static final int MOST_ELEMENTS = 200_000;

    static Stream<Arguments> worlds() {
        return IntStream.range(0, WORLDS)
                .mapToObj(i -> Arguments.of(SEED + i, layout(new SplittableRandom(SEED + i))));
    }

    private static Layout layout(SplittableRandom random) {
        int size = 1 + random.nextInt(9);
        List<Transport> all = List.of(Transport.values());
        Transport transport = all.get(random.nextInt(all.size()));
        int hosts = transport == Transport.TCP ? 1 : 1 + random.nextInt(Math.min(size, 4));
        return new Layout(size, hosts, transport);
    }

    @ParameterizedTest(name = "seed {0}: {1}")
    @MethodSource("worlds")
    void everyOperationGivesWhatTheDefinitionSays(long seed, Layout layout) {
        RandomWorkload workload = RandomWorkload.of(seed, layout.size(), OPERATIONS, MOST_ELEMENTS);
        layout.world().run(workload::run);
    }
}
