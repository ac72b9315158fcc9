package org.horovod4j.collectives;

import org.horovod4j.testing.Layout;
import org.horovod4j.testing.RandomWorkload;
import org.horovod4j.testing.World.Transport;
import org.horovod4j.testsupport.SlowCases;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

import java.util.stream.Stream;

/// Far more ranks than cores.
class ManyRanksInOneJvmIT {
    private static final int OPERATIONS = SlowCases.ENABLED ? 40 : 20;

    static Stream<Layout> crowds() {
        Stream<Layout> some =
                Stream.of(
                        new Layout(64, 8, Transport.LOCAL),
                        new Layout(64, 1, Transport.SHM),
                        new Layout(128, 5, Transport.LOCAL));
        Stream<Layout> more =
                Stream.of(new Layout(64, 1, Transport.LOCAL), new Layout(128, 1, Transport.LOCAL));
        return SlowCases.ENABLED ? Stream.concat(some, more) : some;
    }

    @ParameterizedTest(name = "{0}")
    @MethodSource("crowds")
    void moreRanksThanCoresRunAMixedWorkload(Layout layout) {
        RandomWorkload workload =
                RandomWorkload.of(layout.size(), layout.size(), OPERATIONS, 3_000);
        layout.world().run(workload::run);
    }
}
