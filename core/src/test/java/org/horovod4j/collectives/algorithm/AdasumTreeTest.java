package org.horovod4j.collectives.algorithm;

import static org.assertj.core.api.Assertions.assertThat;

import org.horovod4j.collectives.algorithm.AdasumTree.Pair;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

import java.util.Arrays;
import java.util.List;

class AdasumTreeTest {
    @Test
    void neighboursAreCombinedFirst() {
        assertThat(AdasumTree.of(1).levels()).isEmpty();
        assertThat(AdasumTree.of(8).levels())
                .containsExactly(
                        List.of(new Pair(0, 1), new Pair(2, 3), new Pair(4, 5), new Pair(6, 7)),
                        List.of(new Pair(0, 2), new Pair(4, 6)),
                        List.of(new Pair(0, 4)));
    }

    @Test
    void surplusRanksAreFoldedFirst() {
        assertThat(AdasumTree.of(5).levels())
                .containsExactly(
                        List.of(new Pair(0, 1)),
                        List.of(new Pair(0, 2), new Pair(3, 4)),
                        List.of(new Pair(0, 3)));
        assertThat(AdasumTree.of(7).levels().getFirst())
                .containsExactly(new Pair(0, 1), new Pair(2, 3), new Pair(4, 5));
    }

    @ParameterizedTest(name = "{0} ranks in {1} levels")
    @CsvSource({"2, 1", "3, 2", "6, 3", "7, 3", "16, 4", "17, 5", "100, 7"})
    void weightsDifferByAtMostAFactorOfTwo(int ranks, int levels) {
        AdasumTree tree = AdasumTree.of(ranks);
        assertThat(tree.levels()).hasSize(levels);
        double[] weights = new double[ranks];
        int[] place = new int[ranks];
        Arrays.fill(weights, 1);
        Arrays.setAll(place, i -> i);
        for (List<Pair> level : tree.levels()) {
            for (Pair pair : level) {
                for (int i = 0; i < ranks; i++) {
                    if (place[i] == pair.left() || place[i] == pair.right()) {
                        weights[i] /= 2;
                        place[i] = pair.left();
                    }
                }
            }
        }
        assertThat(place).containsOnly(0);
        double least = Arrays.stream(weights).min().orElseThrow();
        double most = Arrays.stream(weights).max().orElseThrow();
        assertThat(most).isLessThanOrEqualTo(2 * least);
    }
}
