package org.horovod4j.launcher.command;

import java.util.LinkedHashMap;
import java.util.Map;
import java.util.SequencedMap;

/// The keys of [ConfigFile]. A separate class, which is loaded only if there is such a file.
final class ConfigKeys {
    /// The keys of each section, with their flags.
    static final Map<String, SequencedMap<String, Key>> SECTIONS =
            sections(
                    section("params")
                            .value("fusion_threshold_mb", "fusion-threshold-mb")
                            .value("cycle_time_ms", "cycle-time-ms")
                            .value("cache_capacity", "cache-capacity")
                            .ignored("hierarchical_allreduce", "hierarchical-allreduce")
                            .ignored("hierarchical_allgather", "hierarchical-allgather")
                            .ignored("torus_allreduce", "torus-allreduce"),
                    section("autotune")
                            .booleanValue("enabled", "autotune", "no-autotune")
                            .value("log_file", "autotune-log-file")
                            .value("warmup_samples", "autotune-warmup-samples")
                            .value("steps_per_sample", "autotune-steps-per-sample")
                            .value("bayes_opt_max_samples", "autotune-bayes-opt-max-samples")
                            .value("gaussian_process_noise", "autotune-gaussian-process-noise"),
                    section("timeline")
                            .value("filename", "timeline-filename")
                            .booleanValue(
                                    "mark_cycles",
                                    "timeline-mark-cycles",
                                    "no-timeline-mark-cycles"),
                    section("stall_check")
                            .booleanValue("enabled", "stall-check", "no-stall-check")
                            .value("warning_time_seconds", "stall-check-warning-time-seconds")
                            .value("shutdown_time_seconds", "stall-check-shutdown-time-seconds"),
                    section("library_options")
                            .ignored("mpi_threads_disable", "mpi-threads-disable")
                            .ignored("num_nccl_streams", "num-nccl-streams")
                            .ignored("thread_affinity", "thread-affinity")
                            .ignored("gloo_timeout_seconds", "gloo-timeout-seconds"),
                    section("logging")
                            .value("level", "log-level")
                            .booleanValue(
                                    "with_timestamp",
                                    "log-with-timestamp",
                                    "log-without-timestamp"));

    private ConfigKeys() {}

    private static Map<String, SequencedMap<String, Key>> sections(SectionKeys... sections) {
        Map<String, SequencedMap<String, Key>> byName = new LinkedHashMap<>();
        for (SectionKeys section : sections) {
            byName.put(section.name, section.keys);
        }
        return byName;
    }

    private static SectionKeys section(String name) {
        return new SectionKeys(name);
    }

    /// The effect of a key.
    sealed interface Key {
        record Value(OptionFlag flag) implements Key {}

        record BooleanValue(OptionFlag whenTrue, OptionFlag whenFalse) implements Key {}

        record Ignored(IgnoredFlag flag) implements Key {}
    }

    /// Builds the keys of a section.
    private static final class SectionKeys {
        private final String name;
        private final SequencedMap<String, Key> keys = new LinkedHashMap<>();

        SectionKeys(String name) {
            this.name = name;
        }

        SectionKeys value(String key, String flag) {
            keys.put(key, new Key.Value(OptionFlag.named(flag).orElseThrow()));
            return this;
        }

        SectionKeys booleanValue(String key, String yes, String no) {
            keys.put(
                    key,
                    new Key.BooleanValue(
                            OptionFlag.named(yes).orElseThrow(),
                            OptionFlag.named(no).orElseThrow()));
            return this;
        }

        SectionKeys ignored(String key, String flag) {
            keys.put(key, new Key.Ignored(IgnoredFlag.named(flag).orElseThrow()));
            return this;
        }
    }
}
