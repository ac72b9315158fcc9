package org.horovod4j.benchmarks.runtime;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class VariantTest {
    @ParameterizedTest
    @CsvSource({
        "async-native, async-native, flat-native",
        "async-native+timeline, async-native, flat-native",
        "grouped-heap+unlocked, grouped-heap+before-unlocked, flat-heap",
        "async-native+before-autotune, async-native+before-autotune, flat-native",
        "async-sliced, async-sliced, flat-shared",
    })
    void knowsWhatItIsMeasuredBy(String text, String plain, String flat) {
        Variant variant = Variant.parse(text);

        assertThat(variant).hasToString(text);
        assertThat(variant.plain()).hasToString(plain);
        assertThat(variant.flat()).hasToString(flat);
    }

    @ParameterizedTest
    @ValueSource(strings = {"", "async", "async-native+", "async-native-timeline", "openmpi"})
    void anythingElseIsRefused(String text) {
        assertThatIllegalArgumentException()
                .isThrownBy(() -> Variant.parse(text))
                .withMessageContaining("'" + text + "'");
    }

    @ParameterizedTest
    @CsvSource({
        "async-native, true",
        "async-native+timeline, false",
        "async-native+autotune, false",
        "async-native+before-autotune, true",
    })
    void isPlainWithoutASettingAndInTheJobBeforeOne(String text, boolean plain) {
        assertThat(Variant.parse(text).isPlain()).isEqualTo(plain);
    }

    @Test
    void whatTakesTurnsNeedsNoJobBeforeIt() {
        assertThatIllegalArgumentException()
                .isThrownBy(() -> Variant.parse("async-native+before-timeline"))
                .withMessageContaining("'timeline'");
    }

    @Test
    void anUnknownPartIsToldTheKnownOnes() {
        assertThatIllegalArgumentException()
                .isThrownBy(() -> Variant.parse("async-gpu"))
                .withMessageContaining("'gpu'")
                .withMessageContaining("native");
        assertThatIllegalArgumentException()
                .isThrownBy(() -> Variant.parse("async-native+fast"))
                .withMessageContaining("'fast'")
                .withMessageContaining("unlocked");
    }
}
