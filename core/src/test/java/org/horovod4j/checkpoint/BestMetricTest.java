package org.horovod4j.checkpoint;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import org.horovod4j.ConfigurationException;
import org.junit.jupiter.api.Test;

import java.util.Map;
import java.util.OptionalDouble;

class BestMetricTest {
    @Test
    void betterMetricReplacesBest() {
        BestMetric accuracy = new BestMetric("validate_Accuracy", BestMetric.Mode.AUTO);
        assertThat(accuracy.updateIfBetter(Map.of("validate_Accuracy", Float.NaN))).isFalse();
        assertThat(accuracy.updateIfBetter(Map.of("validate_Accuracy", 0.5f))).isTrue();
        assertThat(accuracy.updateIfBetter(Map.of("validate_Accuracy", 0.4f))).isFalse();
        assertThat(accuracy.updateIfBetter(Map.of("validate_Accuracy", 0.6f))).isTrue();
        assertThat(accuracy.best()).isEqualTo(OptionalDouble.of(0.6f));
        BestMetric loss = new BestMetric("validate_loss", BestMetric.Mode.AUTO);
        loss.setBest(OptionalDouble.of(0.3));
        assertThat(loss.updateIfBetter(Map.of("validate_loss", 0.4f))).isFalse();
        assertThat(loss.updateIfBetter(Map.of("validate_loss", 0.2f))).isTrue();
        assertThatExceptionOfType(ConfigurationException.class)
                .isThrownBy(() -> loss.updateIfBetter(Map.of("train_loss", 1f)))
                .withMessageContaining("no metric 'validate_loss'")
                .withMessageContaining("[train_loss]");
        BestMetric reward = new BestMetric("reward", BestMetric.Mode.MAX);
        assertThat(reward.updateIfBetter(Map.of("reward", 1f))).isTrue();
        assertThat(reward.updateIfBetter(Map.of("reward", 2f))).isTrue();
    }
}
