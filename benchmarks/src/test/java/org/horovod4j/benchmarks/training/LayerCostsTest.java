package org.horovod4j.benchmarks.training;

import static org.assertj.core.api.Assertions.assertThat;

import org.horovod4j.benchmarks.runtime.ResNet50;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import java.util.List;

class LayerCostsTest {
    @ParameterizedTest
    @ValueSource(longs = {0, 1, 100, 10_007, 1_000_000})
    void sharesAddUpToTheTotal(long rounds) {
        LayerCosts layerCosts = LayerCosts.of(rounds);

        assertThat(layerCosts.backwardIterations()).hasSize(161).allMatch(share -> share >= 0);
        assertThat(layerCosts.forwardIterations() + sum(layerCosts.backwardIterations()))
                .isEqualTo(rounds);
    }

    @Test
    void backwardCostsTwiceTheForwardPass() {
        assertThat(sum(LayerCosts.of(3_000).backwardIterations())).isEqualTo(2_000);
    }

    @Test
    void theLastLayerComesFirst() {
        assertThat(LayerCosts.of(1).parameters()).isEqualTo(ResNet50.parameters().reversed());
        assertThat(LayerCosts.of(1).parameters().getFirst().name()).isEqualTo("classifier.bias");
    }

    @Test
    void smallSharesAreNotRoundedAway() {
        assertThat(LayerCosts.splitProportionally(2, List.of(1L, 1L, 1L, 1L)))
                .containsExactly(1L, 0L, 1L, 0L);
        assertThat(LayerCosts.splitProportionally(10, List.of(1L, 3L))).containsExactly(3L, 7L);
    }

    private static long sum(List<Long> shares) {
        return shares.stream().mapToLong(Long::longValue).sum();
    }
}
