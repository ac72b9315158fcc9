package org.horovod4j.benchmarks.runtime;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class StepVariantTest {
    @ParameterizedTest
    @CsvSource({
        "async-native, async-native, flat-native",
        "async-native+timeline, async-native, flat-native",
        "grouped-heap+unlocked, grouped-heap+without-unlocked, flat-heap",
        "async-native+without-autotune, async-native+without-autotune, flat-native",
        "async-sliced, async-sliced, flat-shared",
    })
    void findsItsBaselineAndFlatVariant(String text, String plain, String flat) {
        StepVariant stepVariant = StepVariant.parse(text);

        assertThat(stepVariant).hasToString(text);
        assertThat(stepVariant.baseline()).hasToString(plain);
        assertThat(stepVariant.flat()).hasToString(flat);
    }

    @ParameterizedTest
    @ValueSource(strings = {"", "async", "async-native+", "async-native-timeline", "openmpi"})
    void invalidTextIsRejected(String text) {
        assertThatIllegalArgumentException()
                .isThrownBy(() -> StepVariant.parse(text))
                .withMessageContaining("'" + text + "'");
    }

    @ParameterizedTest
    @CsvSource({
        "async-native, true",
        "async-native+timeline, false",
        "async-native+autotune, false",
        "async-native+without-autotune, true",
    })
    void isBaselineWithoutASettingOrAsABaselineRun(String text, boolean plain) {
        assertThat(StepVariant.parse(text).isBaseline()).isEqualTo(plain);
    }

    @Test
    void switchableSettingHasNoBaselineRun() {
        assertThatIllegalArgumentException()
                .isThrownBy(() -> StepVariant.parse("async-native+without-timeline"))
                .withMessageContaining("'timeline'");
    }

    @Test
    void unknownPartErrorListsTheValidValues() {
        assertThatIllegalArgumentException()
                .isThrownBy(() -> StepVariant.parse("async-gpu"))
                .withMessageContaining("'gpu'")
                .withMessageContaining("native");
        assertThatIllegalArgumentException()
                .isThrownBy(() -> StepVariant.parse("async-native+fast"))
                .withMessageContaining("'fast'")
                .withMessageContaining("unlocked");
    }
}
