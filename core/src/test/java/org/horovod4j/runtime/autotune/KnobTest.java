package org.horovod4j.runtime.autotune;

import static org.assertj.core.api.Assertions.assertThat;

import org.horovod4j.option.KnobOption;
import org.horovod4j.spi.Tuning;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

import java.util.Arrays;

class KnobTest {
    @Test
    void everyKnobHasExactlyOneOption() {
        assertThat(Arrays.stream(KnobOption.values()).map(Knob::of))
                .containsExactlyInAnyOrder(Knob.values());
        assertThat(KnobOption.values())
                .allSatisfy(
                        option ->
                                assertThat(Knob.of(option).variable())
                                        .isEqualTo(option.variable()));
    }

    @ParameterizedTest
    @EnumSource(Knob.class)
    void eachValueIsTwiceTheOneBefore(Knob knob) {
        double[] places = knob.candidateValues().mapToDouble(knob::logScale).toArray();
        for (int i = 1; i < places.length; i++) {
            assertThat(places[i] - places[i - 1]).isBetween(0.69, 0.70);
        }
    }

    @ParameterizedTest
    @EnumSource(Knob.class)
    void aValueIsReadBackFromItsText(Knob knob) {
        knob.candidateValues()
                .forEach(value -> assertThat(knob.parse(knob.text(value))).isEqualTo(value));
    }

    @ParameterizedTest
    @EnumSource(Knob.class)
    void changingOneKnobKeepsTheOthers(Knob knob) {
        long value =
                knob.candidateValues()
                        .filter(each -> each != knob.read(Tuning.DEFAULT))
                        .max()
                        .orElseThrow();
        Tuning turned = knob.withValue(Tuning.DEFAULT, value);
        for (Knob each : Knob.values()) {
            assertThat(each.read(turned))
                    .isEqualTo(each == knob ? value : each.read(Tuning.DEFAULT));
        }
        assertThat(knob.withValue(turned, knob.read(Tuning.DEFAULT))).isEqualTo(Tuning.DEFAULT);
    }
}
