package org.horovod4j.option;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.horovod4j.ConfigurationException;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

import java.time.Duration;

class OptionTest {
    private static final Option<Boolean> BOOL =
            Option.bool("verbose")
                    .environment("HOROVOD_VERBOSE")
                    .byDefault(false)
                    .help("Says more.");
    private static final Option<Duration> MILLIS =
            Option.millis("cycle-time-ms")
                    .environment("HOROVOD_CYCLE_TIME")
                    .byDefault(Duration.ofMillis(1))
                    .atLeast(Duration.ZERO)
                    .help("Pause between two cycles.");
    private static final Option<Long> BYTES =
            Option.bytesByMebibyteFlag("fusion-threshold-mb")
                    .environment("HOROVOD_FUSION_THRESHOLD")
                    .byDefault(64L << 20)
                    .atMost(1L << 40)
                    .help("Size of the buffer.");

    @ParameterizedTest
    @ValueSource(strings = {"true", "TRUE", "Yes", "on", "1", " 1 "})
    void boolAcceptsTrueWords(String text) {
        assertThat(BOOL.parse("it", text)).isTrue();
    }

    @ParameterizedTest
    @ValueSource(strings = {"false", "No", "OFF", "0"})
    void boolAcceptsFalseWords(String text) {
        assertThat(BOOL.parse("it", text)).isFalse();
    }

    @ParameterizedTest
    @ValueSource(strings = {"2", "-1", "ja", "", "truee"})
    void boolRefusesOtherWords(String text) {
        assertThatThrownBy(() -> BOOL.parse("HOROVOD_VERBOSE", text))
                .isInstanceOf(ConfigurationException.class)
                .hasMessageContaining("HOROVOD_VERBOSE is '%s'", text)
                .hasMessageContaining("`true`, `yes`, `on` or `1`; `false`, `no`, `off` or `0`");
    }

    @ParameterizedTest
    @CsvSource({"0, 0", "1.5, 1500000", "2000, 2000000000", "1e3, 1000000000"})
    void durationsMayHaveFractions(String millis, long nanos) {
        assertThat(MILLIS.parse("it", millis)).isEqualTo(Duration.ofNanos(nanos));
    }

    @ParameterizedTest
    @CsvSource({
        "0, 0, 0",
        "4096, 4096, 4K",
        "64M, 67108864, 64M",
        "64 MiB, 67108864, 64M",
        "3kb, 3072, 3K",
        "1025B, 1025, 1025",
        "1t, 1099511627776, 1T"
    })
    void bytesMayHaveUnits(String text, long bytes, String written) {
        assertThat(BYTES.parse("it", text)).isEqualTo(bytes);
        assertThat(BYTES.format(bytes)).isEqualTo(Long.toString(bytes));
        assertThat(
                        Option.bytes("size")
                                .environment("HOROVOD_SIZE_OF")
                                .byDefault(bytes)
                                .help("A size.")
                                .defaultText())
                .isEqualTo(written);
    }

    @ParameterizedTest
    @ValueSource(strings = {"0", "3", "5", "7"})
    void oneValueOutsideTheBoundsCanBeAllowed(String text) {
        assertThat(fromThreeToSevenOrNone().parse("it", text)).isEqualTo(Integer.valueOf(text));
    }

    @ParameterizedTest
    @ValueSource(strings = {"-1", "1", "2", "8"})
    void otherValuesOutsideTheBoundsAreRefused(String text) {
        assertThatThrownBy(() -> fromThreeToSevenOrNone().parse("it", text))
                .isInstanceOf(ConfigurationException.class)
                .hasMessageContaining("it is '%s', which is not allowed", text)
                .hasMessageContaining("allowed: a whole number from 3 to 7, or 0\n");
    }

    private static Option<Integer> fromThreeToSevenOrNone() {
        return Option.integer("some")
                .environment("HOROVOD_SOME")
                .atLeast(3)
                .atMost(7)
                .or(0)
                .help("Some, or none.");
    }

    @ParameterizedTest
    @CsvSource({"0.8, 0.8", "1, 1", "1e-3, 0.001"})
    void numbersMayHaveFractions(String text, String written) {
        Option<Double> number =
                Option.number("noise").environment("HOROVOD_NOISE").help("Some noise.");
        assertThat(number.format(number.parse("it", text))).isEqualTo(written);
    }

    @Test
    void flagCanHaveAnotherUnitThanVariable() {
        Flag.Valued flag = (Flag.Valued) BYTES.flags().getFirst();
        assertThat(flag.name()).isEqualTo("fusion-threshold-mb");
        assertThat(flag.toVariable().apply("1.5")).isEqualTo("1572864");
        assertThatThrownBy(() -> flag.toVariable().apply("64M"))
                .isInstanceOf(ConfigurationException.class)
                .hasMessageContaining("--fusion-threshold-mb is '64M'")
                .hasMessageContaining("mebibytes, at most 1048576")
                .hasMessageContaining("default: 64\n");
    }

    @Test
    void aBoolHasAFlagForEachOfItsValues() {
        assertThat(BOOL.flags())
                .containsExactly(
                        new Flag.Switch("verbose", "1"), new Flag.Switch("no-verbose", "0"));
    }

    @ParameterizedTest
    @CsvSource({"auto, AUTO", "Halving-Doubling, HALVING_DOUBLING"})
    void choicesAreWrittenWithDashes(String text, AllreduceChoice choice) {
        assertThat(Options.ALLREDUCE_ALGORITHM.parse("it", text)).isEqualTo(choice);
    }

    @Test
    void formattedValueParsesBack() {
        for (Option<?> option : Options.all()) {
            assertDefaultReadsBack(option);
        }
        assertThat(MILLIS.format(MILLIS.parse("it", "0.25"))).isEqualTo("0.25");
    }

    private static <T extends Comparable<T>> void assertDefaultReadsBack(Option<T> option) {
        option.byDefault()
                .ifPresent(
                        value ->
                                assertThat(option.parse("it", option.defaultText()))
                                        .isEqualTo(value));
    }

    @ParameterizedTest
    @ValueSource(strings = {"-1", "17", "many", "", "1.5", "99999999999"})
    void aValueThatIsNotAllowedIsExplained(String text) {
        assertThatThrownBy(() -> Options.TCP_STREAMS.parse("--tcp-streams", text))
                .isInstanceOf(ConfigurationException.class)
                .hasMessageContaining("--tcp-streams is '%s'", text)
                .hasMessageContaining("allowed: a whole number from 0 to 16")
                .hasMessageContaining("default: 0")
                .hasMessageContaining("Connections between each pair of ranks");
    }

    @ParameterizedTest
    @ValueSource(strings = {"-1", "soon", "1e999999999", "1e-999999999", "NaN"})
    void durationsAreChecked(String text) {
        assertThatThrownBy(() -> MILLIS.parse("it", text))
                .isInstanceOf(ConfigurationException.class)
                .hasMessageContaining("milliseconds, at least 0");
    }

    @ParameterizedTest
    @ValueSource(strings = {"2T", "-1", "M", "1X", "99999999999999999999", "9223372036854775807K"})
    void bytesAreChecked(String text) {
        assertThatThrownBy(() -> BYTES.parse("it", text))
                .isInstanceOf(ConfigurationException.class)
                .hasMessageContaining("at most 1T");
    }

    @Test
    void aSecretIsNotPrintedEvenWhenRefused() {
        Option<Integer> pin =
                Option.integer().environment("HOROVOD_PIN").secret().help("Opens the door.");
        assertThatThrownBy(() -> pin.parse("HOROVOD_PIN", "hunter2"))
                .isInstanceOf(ConfigurationException.class)
                .hasMessageContaining("HOROVOD_PIN is '(hidden)'")
                .hasMessageNotContaining("hunter2")
                .hasNoCause();
    }

    @Test
    void aDeclarationNeedsItsVariable() {
        assertThatThrownBy(() -> Option.text("name").help("Nameless."))
                .isInstanceOf(IllegalStateException.class);
    }
}
