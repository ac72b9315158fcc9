package org.horovod4j.collectives;

import org.horovod4j.testing.Layout;
import org.horovod4j.testing.RandomWorkload;
import org.horovod4j.testing.World.Transport;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

import java.util.stream.Stream;

/// Far more ranks than cores.
class ManyRanksTest {
    static Stream<Layout> crowds() {
        return Stream.of(
                new Layout(64, 1, Transport.LOCAL),
                new Layout(64, 8, Transport.LOCAL),
                new Layout(64, 1, Transport.SHM),
                new Layout(128, 1, Transport.LOCAL),
                new Layout(128, 5, Transport.LOCAL));
    }

    @ParameterizedTest(name = "{0}")
    @MethodSource("crowds")
    void moreRanksThanCoresRunAMixedWorkload(Layout layout) {
        RandomWorkload workload = RandomWorkload.of(layout.size(), layout.size(), 40, 3_000);
        layout.world().run(workload::run);
    }
}
