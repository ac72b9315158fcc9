package org.horovod4j.collectives.algorithm;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/// [org.horovod4j.collectives.BroadcastTest] tests the results of both shapes.
class LinkBroadcastTest {
    @ParameterizedTest
    @CsvSource({
        "1, 100, false", // nothing is sent
        "2, 100, false", // both shapes are the same
        "3, 1, false",
        "3, 2, true",
        "4, 2, false",
        "4, 3, true",
        "16, 4, false",
        "16, 5, true",
        "100, 16, false",
        "100, 17, true",
    })
    void manyPiecesUseAChain(int size, long pieces, boolean chain) {
        assertThat(LinkBroadcast.isChainFaster(size, pieces)).isEqualTo(chain);
    }
}
