package org.horovod4j.benchmarks.training;

import static org.assertj.core.api.Assertions.assertThat;

import org.horovod4j.benchmarks.runtime.ResNet50;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import java.util.List;

class LayersTest {
    @ParameterizedTest
    @ValueSource(longs = {0, 1, 100, 10_007, 1_000_000})
    void allWorkIsGivenOut(long rounds) {
        Layers layers = Layers.of(rounds);

        assertThat(layers.backwardRounds()).hasSize(161).allMatch(share -> share >= 0);
        assertThat(layers.forwardRounds() + sum(layers.backwardRounds())).isEqualTo(rounds);
    }

    @Test
    void aBackwardPassIsTwiceAForwardPass() {
        assertThat(sum(Layers.of(3_000).backwardRounds())).isEqualTo(2_000);
    }

    @Test
    void theLastLayerComesFirst() {
        assertThat(Layers.of(1).parameters()).isEqualTo(ResNet50.parameters().reversed());
        assertThat(Layers.of(1).parameters().getFirst().name()).isEqualTo("classifier.bias");
    }

    @Test
    void smallSharesAddUpInsteadOfBeingRoundedAway() {
        assertThat(Layers.share(2, List.of(1L, 1L, 1L, 1L))).containsExactly(1L, 0L, 1L, 0L);
        assertThat(Layers.share(10, List.of(1L, 3L))).containsExactly(3L, 7L);
    }

    private static long sum(List<Long> shares) {
        return shares.stream().mapToLong(Long::longValue).sum();
    }
}
