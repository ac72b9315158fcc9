package org.horovod4j.runtime.fuzz;

import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

import java.util.stream.IntStream;
import java.util.stream.Stream;

/// Programs that repeat, change and fail, in random order from several threads: every result is
/// correct. To repeat a failure, run with `-Dhorovod4j.seed=` and the seed in its message.
class PlanFuzzIT {
    private static final long SEED =
            Long.getLong("horovod4j.seed", System.nanoTime() & Integer.MAX_VALUE);
    private static final int WORLDS = 4;
    private static final int STEPS = 80;
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
                .mapToObj(i -> FuzzWorld.of(SEED + i))
                .map(world -> Arguments.of(world.seed(), world));
    }

    @Timeout(value = 120, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
    @ParameterizedTest(name = "seed {0}: {1}")
    @MethodSource("someWorlds")
    void everyResultIsCorrect(long seed, FuzzWorld world) {
        world.run(STEPS);
    }

    /// About ten minutes.
    @Tag("slow")
    @Timeout(value = 600, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
    @ParameterizedTest(name = "seed {0}: {1}")
    @MethodSource("manyWorlds")
    void everyResultIsCorrectInALongRun(long seed, FuzzWorld world) {
        world.run(MANY_STEPS);
    }
}
