package org.horovod4j.text;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

import java.util.List;

final class RankListTest {
    @Test
    void threeConsecutiveRanksAreARange() {
        assertThat(RankList.format(List.of(3))).isEqualTo("rank 3");
        assertThat(RankList.format(List.of(0, 1))).isEqualTo("ranks 0, 1");
        assertThat(RankList.format(List.of(0, 1, 2, 5, 7, 8))).isEqualTo("ranks 0-2, 5, 7, 8");
    }
}
