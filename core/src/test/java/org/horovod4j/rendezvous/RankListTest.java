package org.horovod4j.rendezvous;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

import java.util.List;
import java.util.TreeSet;

final class RankListTest {
    @Test
    void consecutiveRanksAreFormattedAsRanges() {
        assertThat(text(3)).isEqualTo("rank 3");
        assertThat(text(0, 1, 2, 5, 7, 8)).isEqualTo("ranks 0-2, 5, 7-8");
    }

    private static String text(Integer... ranks) {
        return RankList.format(new TreeSet<>(List.of(ranks)));
    }
}
