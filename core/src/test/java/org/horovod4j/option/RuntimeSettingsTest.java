package org.horovod4j.option;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.horovod4j.ConfigurationException;
import org.horovod4j.log.LogLevel;
import org.horovod4j.log.LogSettings;
import org.horovod4j.spi.Tuning;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;

import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.OptionalInt;
import java.util.Set;

class RuntimeSettingsTest {
    @Test
    void defaultsApplyWhenNothingIsSet() {
        assertThat(settings(Map.of()))
                .isEqualTo(
                        new RuntimeSettings(
                                Tuning.DEFAULT,
                                Set.of(),
                                1024,
                                true,
                                true,
                                OptionalInt.empty(),
                                StreamingStoresChoice.AUTO,
                                OptionalInt.empty(),
                                false,
                                JoinAverage.ALL,
                                List.of(),
                                new StallSettings(Duration.ofSeconds(60), Duration.ZERO),
                                new TimelineSettings(null, false, false, false, 1L << 30),
                                new AutotuneSettings(false, null, 3, 10, 20, null),
                                new LogSettings(null, true),
                                FrameworkSettings.DEFAULT,
                                new BackendSettings(Map.of(), false)))
                .isEqualTo(RuntimeSettings.DEFAULT);
    }

    @Test
    void everythingCanBeSet() {
        assertThat(
                        settings(
                                Map.ofEntries(
                                        Map.entry("HOROVOD_FUSION_THRESHOLD", "33554432"),
                                        Map.entry("HOROVOD_CYCLE_TIME", "2.5"),
                                        Map.entry("HOROVOD_ROUND_BYTES", "64K"),
                                        Map.entry("HOROVOD_RING_BYTES", "1M"),
                                        Map.entry("HOROVOD_TCP_STREAMS", "2"),
                                        Map.entry("HOROVOD_CACHE_CAPACITY", "0"),
                                        Map.entry("HOROVOD_DISABLE_GROUP_FUSION", "true"),
                                        Map.entry("HOROVOD_PLAN_LOCKING", "off"),
                                        Map.entry("HOROVOD_HELPER_THREADS", "3"),
                                        Map.entry("HOROVOD_STREAMING_STORES", "never"),
                                        Map.entry("HOROVOD_HOST_PROCESSORS", "12"),
                                        Map.entry("HOROVOD_TLS", "1"),
                                        Map.entry("HOROVOD_JOIN_AVERAGE", "live"),
                                        Map.entry("HOROVOD_THREAD_AFFINITY", "0, 8"),
                                        Map.entry("HOROVOD_STALL_CHECK_TIME_SECONDS", "5"),
                                        Map.entry("HOROVOD_STALL_SHUTDOWN_TIME_SECONDS", "7"),
                                        Map.entry("HOROVOD_TIMELINE", "trace.json"),
                                        Map.entry("HOROVOD_TIMELINE_MARK_CYCLES", "1"),
                                        Map.entry("HOROVOD_TIMELINE_ALL_RANKS", "yes"),
                                        Map.entry("HOROVOD_TIMELINE_MAX_BYTES", "0"),
                                        Map.entry("HOROVOD_AUTOTUNE", "on"),
                                        Map.entry("HOROVOD_AUTOTUNE_LOG", "log.csv"),
                                        Map.entry("HOROVOD_AUTOTUNE_WARMUP_SAMPLES", "0"),
                                        Map.entry("HOROVOD_AUTOTUNE_STEPS_PER_SAMPLE", "4"),
                                        Map.entry("HOROVOD_AUTOTUNE_BAYES_OPT_MAX_SAMPLES", "6"),
                                        Map.entry("HOROVOD_AUTOTUNE_GAUSSIAN_PROCESS_NOISE", ".1"),
                                        Map.entry("HOROVOD_AUTOTUNE_FILE", "best"),
                                        Map.entry("HOROVOD_GPU_OPERATIONS", "Nccl"),
                                        Map.entry("HOROVOD_HIERARCHICAL_ALLREDUCE", "1"),
                                        Map.entry("HOROVOD_NCCL_LIBRARY", "/opt/nccl"),
                                        Map.entry("HOROVOD_LOG_LEVEL", "Error"),
                                        Map.entry("HOROVOD_LOG_HIDE_TIME", "1"))))
                .isEqualTo(
                        new RuntimeSettings(
                                new Tuning(
                                        32 << 20, Duration.ofNanos(2_500_000), 65536, 1 << 20, 2),
                                Set.of(KnobOption.values()),
                                0,
                                false,
                                false,
                                OptionalInt.of(3),
                                StreamingStoresChoice.NEVER,
                                OptionalInt.of(12),
                                true,
                                JoinAverage.LIVE,
                                List.of(0, 8),
                                new StallSettings(Duration.ofSeconds(5), Duration.ofSeconds(7)),
                                new TimelineSettings(Path.of("trace.json"), false, true, true, 0),
                                new AutotuneSettings(
                                        true, Path.of("log.csv"), 0, 4, 6, Path.of("best")),
                                new LogSettings(LogLevel.ERROR, false),
                                FrameworkSettings.DEFAULT,
                                new BackendSettings(
                                        Map.of("HOROVOD_GPU_OPERATIONS", "NCCL"), true)));
    }

    @ParameterizedTest
    @CsvSource({
        "HOROVOD_FUSION_THRESHOLD, 0, FUSION_THRESHOLD",
        "HOROVOD_CYCLE_TIME, 1, CYCLE_TIME",
        "HOROVOD_ROUND_BYTES, 16K, ROUND_BYTES",
        "HOROVOD_RING_BYTES, 0, RING_BYTES",
        "HOROVOD_TCP_STREAMS, 4, STREAMS"
    })
    void knobSetToItsDefaultIsFixed(String variable, String value, KnobOption knob) {
        assertThat(settings(Map.of(variable, value)).fixed()).containsExactly(knob);
    }

    @Test
    void dynamicTimelineIsNotAFile() {
        TimelineSettings timeline = settings(Map.of("HOROVOD_TIMELINE", "DYNAMIC")).timeline();
        assertThat(timeline.dynamic()).isTrue();
        assertThat(timeline.file()).isNull();
    }

    @ParameterizedTest
    @CsvSource({"0, 0", "64K, 65536", "65537, 65537"})
    void timelineMaxBytesHasMinimumOrIsUnlimited(String text, long bytes) {
        Map<String, String> variables = Map.of("HOROVOD_TIMELINE_MAX_BYTES", text);
        assertThat(settings(variables).timeline().maxBytes()).isEqualTo(bytes);
    }

    @ParameterizedTest
    @CsvSource({"60, 30", "10, 9.9"})
    void shutdownTimeBelowWarningTimeIsIgnoredWithWarning(String warning, String shutdown) {
        Map<String, String> variables =
                Map.of(
                        "HOROVOD_STALL_CHECK_TIME_SECONDS", warning,
                        "HOROVOD_STALL_SHUTDOWN_TIME_SECONDS", shutdown);
        assertThat(settings(variables).stall().shutdown()).isZero();
        assertThat(settings(variables).stall().warning()).isPositive();
        assertThat(new Environment(variables).warnings())
                .singleElement()
                .asString()
                .startsWith("HOROVOD_STALL_SHUTDOWN_TIME_SECONDS is ignored: " + shutdown)
                .contains(warning + " of HOROVOD_STALL_CHECK_TIME_SECONDS");
    }

    @ParameterizedTest
    @CsvSource({"60, 60", "60, 0", "0, 5"})
    void shutdownTimeAboveWarningTimeIsKept(String warning, long shutdown) {
        Map<String, String> variables =
                Map.of(
                        "HOROVOD_STALL_CHECK_TIME_SECONDS",
                        warning,
                        "HOROVOD_STALL_SHUTDOWN_TIME_SECONDS",
                        Long.toString(shutdown));
        assertThat(settings(variables).stall().shutdown()).hasSeconds(shutdown);
        assertThat(new Environment(variables).warnings()).isEmpty();
    }

    @Test
    void disabledStallCheckHasNoTimeoutsAndNoWarning() {
        Map<String, String> variables =
                Map.of(
                        "HOROVOD_STALL_CHECK_DISABLE", "1",
                        "HOROVOD_STALL_SHUTDOWN_TIME_SECONDS", "30");
        assertThat(settings(variables).stall()).isEqualTo(StallSettings.OFF);
        assertThat(new Environment(variables).warnings()).isEmpty();
    }

    @ParameterizedTest
    @EnumSource(LogLevel.class)
    void everyHorovodLogLevelIsParsed(LogLevel level) {
        assertThat(settings(Map.of("HOROVOD_LOG_LEVEL", level.name())).log().level())
                .isEqualTo(level);
    }

    @ParameterizedTest
    @CsvSource({
        "HOROVOD_FUSION_THRESHOLD, -1, bytes",
        "HOROVOD_CYCLE_TIME, soon, milliseconds",
        "HOROVOD_CACHE_CAPACITY, -1, a whole number",
        "HOROVOD_ROUND_BYTES, 1M, from 16K to 512K",
        "HOROVOD_ROUND_BYTES, 1K, from 16K to 512K",
        "HOROVOD_JOIN_AVERAGE, some, '`all`, `live`'",
        "HOROVOD_PLAN_LOCKING, maybe, '`true`, `yes`, `on` or `1`'",
        "HOROVOD_TIMELINE_MAX_BYTES, 65535, 'at least 64K, or 0'",
        "HOROVOD_TIMELINE_MAX_BYTES, -1, 'at least 64K, or 0'",
        "HOROVOD_AUTOTUNE_STEPS_PER_SAMPLE, 0, at least 1",
        "HOROVOD_AUTOTUNE_GAUSSIAN_PROCESS_NOISE, 1.1, a number from 0 to 1",
        "HOROVOD_STALL_CHECK_TIME_SECONDS, -5, 'seconds, at least 0'"
    })
    void invalidValuesAreRefused(String variable, String value, String allowed) {
        assertThatThrownBy(() -> settings(Map.of(variable, value)))
                .isInstanceOf(ConfigurationException.class)
                .hasMessageContaining("%s is '%s'", variable, value)
                .hasMessageContaining(allowed);
    }

    private static RuntimeSettings settings(Map<String, String> variables) {
        return RuntimeSettings.from(new Environment(variables));
    }
}
