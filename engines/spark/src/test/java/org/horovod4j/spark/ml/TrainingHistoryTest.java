package org.horovod4j.spark.ml;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.horovod4j.ConfigurationException;
import org.junit.jupiter.api.Test;

import java.util.Map;

class TrainingHistoryTest {
    private final TrainingHistory history =
            TrainingHistory.EMPTY
                    .with(Map.of("loss", 0.5, "val_loss", Double.NaN))
                    .with(Map.of("loss", 1e-9, "val_loss", 2.0));

    @Test
    void hasTheValuesOfEachEpoch() {
        assertThat(history.metric("loss")).containsExactly(0.5, 1e-9);
        assertThat(history.first(1).epochs()).hasSize(1);
        assertThat(history.first(7)).isEqualTo(history);
        assertThatThrownBy(() -> history.metric("accuracy"))
                .isInstanceOf(ConfigurationException.class)
                .hasMessageContaining("there is no metric 'accuracy'; there are ");
    }

    @Test
    void isTheSameAfterItWasWrittenAndRead() {
        assertThat(TrainingHistory.parse(history.format())).isEqualTo(history);
        TrainingHistory names =
                TrainingHistory.EMPTY.with(Map.of("top 5, all", 0.5, "a=b%2C\n+ü", 1.0));
        assertThat(TrainingHistory.parse(names.format())).isEqualTo(names);
        assertThat(TrainingHistory.parse("")).isEqualTo(TrainingHistory.EMPTY);
    }
}
