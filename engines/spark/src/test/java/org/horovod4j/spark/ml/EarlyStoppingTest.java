package org.horovod4j.spark.ml;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

import java.util.Map;
import java.util.stream.Stream;

class EarlyStoppingTest {
    @ParameterizedTest(name = "{0} of {2} ends after epoch {3}")
    @CsvSource({
        "val_loss, 2, 3 2 1 1 1 0, 5",
        "val_loss, 2, 3 4 2 3 1, 0",
        "val_Accuracy, 1, 0.5 0.6 0.6 0.9, 3",
        "loss, 1, NaN 3 2, 1",
    })
    void endsAfterEpochsThatAreNotBetter(String metric, int patience, String values, int expected) {
        EarlyStopping stopping = new EarlyStopping(metric, patience);
        int epoch = 0;
        int ended = 0;
        for (double value : Stream.of(values.split(" ")).mapToDouble(Double::valueOf).toArray()) {
            epoch++;
            stopping.add(Map.of(metric, value));
            if (ended == 0 && stopping.shouldStop()) {
                ended = epoch;
            }
        }
        assertThat(ended).isEqualTo(expected);
    }
}
