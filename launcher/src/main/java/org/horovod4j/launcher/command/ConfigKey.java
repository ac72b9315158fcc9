package org.horovod4j.launcher.command;

import org.horovod4j.ConfigurationException;
import org.horovod4j.launcher.file.YamlNode;

import java.util.List;
import java.util.Map;

/// A key of [ConfigFile] and the flag that it corresponds to.
///
/// @param section the key above it
/// @param flags its flag; for a boolean, those of `true` and `false`
record ConfigKey(String section, String name, List<String> flags) {
    private static final List<ConfigKey> ALL =
            List.of(
                    key("params", "fusion_threshold_mb", "fusion-threshold-mb"),
                    key("params", "cycle_time_ms", "cycle-time-ms"),
                    key("params", "cache_capacity", "cache-capacity"),
                    key(
                            "params",
                            "hierarchical_allreduce",
                            "hierarchical-allreduce",
                            "no-hierarchical-allreduce"),
                    key("params", "hierarchical_allgather", "hierarchical-allgather"),
                    key("params", "torus_allreduce", "torus-allreduce"),
                    key("autotune", "enabled", "autotune", "no-autotune"),
                    key("autotune", "log_file", "autotune-log-file"),
                    key("autotune", "warmup_samples", "autotune-warmup-samples"),
                    key("autotune", "steps_per_sample", "autotune-steps-per-sample"),
                    key("autotune", "bayes_opt_max_samples", "autotune-bayes-opt-max-samples"),
                    key("autotune", "gaussian_process_noise", "autotune-gaussian-process-noise"),
                    key("timeline", "filename", "timeline-filename"),
                    key(
                            "timeline",
                            "mark_cycles",
                            "timeline-mark-cycles",
                            "no-timeline-mark-cycles"),
                    key("stall_check", "enabled", "stall-check", "no-stall-check"),
                    key("stall_check", "warning_time_seconds", "stall-check-warning-time-seconds"),
                    key(
                            "stall_check",
                            "shutdown_time_seconds",
                            "stall-check-shutdown-time-seconds"),
                    key("library_options", "mpi_threads_disable", "mpi-threads-disable"),
                    key("library_options", "num_nccl_streams", "num-nccl-streams"),
                    key("library_options", "thread_affinity", "thread-affinity"),
                    key("library_options", "gloo_timeout_seconds", "gloo-timeout-seconds"),
                    key("logging", "level", "log-level"),
                    key(
                            "logging",
                            "with_timestamp",
                            "log-with-timestamp",
                            "log-without-timestamp"));

    ConfigKey {
        flags = List.copyOf(flags);
    }

    private static ConfigKey key(String section, String name, String... flags) {
        return new ConfigKey(section, name, List.of(flags));
    }

    static List<String> sections() {
        return ALL.stream().map(ConfigKey::section).distinct().toList();
    }

    /// The keys of a section.
    static List<ConfigKey> of(String section) {
        return ALL.stream().filter(key -> key.section.equals(section)).toList();
    }

    /// Takes the value of this key.
    ///
    /// @param variables gets the variable that it sets
    /// @param notices gets a message if it has no effect
    void read(YamlNode node, Map<String, String> variables, List<String> notices) {
        IgnoredFlag ignored = IgnoredFlag.named(flags.getFirst()).orElse(null);
        if (ignored == null) {
            String flag =
                    flags.size() == 1 || node.asBoolean() ? flags.getFirst() : flags.getLast();
            set(OptionFlag.named(flag).orElseThrow(), node, variables);
        } else if (!node.asText().equals("false")) { // the feature is off anyway
            notices.add(ignored.notice(node.location().toString()));
        }
    }

    private static void set(OptionFlag flag, YamlNode node, Map<String, String> variables) {
        String text = node.asText();
        try {
            variables.put(flag.option().variable(), flag.value(text));
        } catch (ConfigurationException e) {
            throw new ConfigurationException(
                    "%s: %s".formatted(node.location(), e.getMessage()), e);
        }
    }
}
