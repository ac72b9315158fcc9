package org.horovod4j.launcher.command;

import org.horovod4j.ConfigurationException;
import org.horovod4j.launcher.yaml.Where;
import org.horovod4j.launcher.yaml.YamlFile;
import org.horovod4j.launcher.yaml.YamlNode;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.SequencedMap;
import java.util.function.Consumer;

/// The file of `--config-file`, with Horovod's keys: each stands for a flag, and is read as that.
///
/// @param controller who starts the processes, if it says so
/// @param variables what it sets, for the job and its processes
/// @param notices what the user should hear of settings without effect
record ConfigFile(
        Optional<ControllerName> controller, Map<String, String> variables, List<String> notices) {
    static final ConfigFile EMPTY = new ConfigFile(Optional.empty(), Map.of(), List.of());

    private static final String CONTROLLER = "controller";

    /// The keys of each section, with the flags they stand for.
    private static final Map<String, SequencedMap<String, Key>> SECTIONS =
            sections(
                    section("params")
                            .value("fusion_threshold_mb", "fusion-threshold-mb")
                            .value("cycle_time_ms", "cycle-time-ms")
                            .value("cache_capacity", "cache-capacity")
                            .ignored("hierarchical_allreduce", "hierarchical-allreduce")
                            .ignored("hierarchical_allgather", "hierarchical-allgather")
                            .ignored("torus_allreduce", "torus-allreduce"),
                    section("autotune")
                            .truth("enabled", "autotune", "no-autotune")
                            .value("log_file", "autotune-log-file")
                            .value("warmup_samples", "autotune-warmup-samples")
                            .value("steps_per_sample", "autotune-steps-per-sample")
                            .value("bayes_opt_max_samples", "autotune-bayes-opt-max-samples")
                            .value("gaussian_process_noise", "autotune-gaussian-process-noise"),
                    section("timeline")
                            .value("filename", "timeline-filename")
                            .truth(
                                    "mark_cycles",
                                    "timeline-mark-cycles",
                                    "no-timeline-mark-cycles"),
                    section("stall_check")
                            .truth("enabled", "stall-check", "no-stall-check")
                            .value("warning_time_seconds", "stall-check-warning-time-seconds")
                            .value("shutdown_time_seconds", "stall-check-shutdown-time-seconds"),
                    section("library_options")
                            .ignored("mpi_threads_disable", "mpi-threads-disable")
                            .ignored("num_nccl_streams", "num-nccl-streams")
                            .ignored("thread_affinity", "thread-affinity")
                            .ignored("gloo_timeout_seconds", "gloo-timeout-seconds"),
                    section("logging")
                            .value("level", "log-level")
                            .truth(
                                    "with_timestamp",
                                    "log-with-timestamp",
                                    "log-without-timestamp"));

    ConfigFile {
        variables = Map.copyOf(variables);
        notices = List.copyOf(notices);
    }

    /// @throws ConfigurationException when the file cannot be read or says what makes no sense
    static ConfigFile read(Path file) {
        YamlNode.Section root = YamlFile.read(file);
        List<String> known = new ArrayList<>(List.of(CONTROLLER));
        known.addAll(SECTIONS.keySet());
        root.allow(known);

        Map<String, String> variables = new LinkedHashMap<>();
        List<String> notices = new ArrayList<>();
        SECTIONS.forEach(
                (name, keys) ->
                        root.find(name)
                                .map(YamlNode::asSection)
                                .ifPresent(
                                        section -> read(section, keys, variables, notices::add)));
        return new ConfigFile(root.find(CONTROLLER).map(ControllerName::of), variables, notices);
    }

    private static void read(
            YamlNode.Section section,
            SequencedMap<String, Key> keys,
            Map<String, String> variables,
            Consumer<String> notices) {
        section.allow(keys.keySet());
        keys.forEach(
                (name, key) ->
                        section.find(name)
                                .ifPresent(
                                        node -> {
                                            switch (key) {
                                                case Key.Value(OptionFlag flag) ->
                                                        set(flag, node, variables);
                                                case Key.Truth(OptionFlag yes, OptionFlag no) ->
                                                        set(
                                                                node.asTruth() ? yes : no,
                                                                node,
                                                                variables);
                                                case Key.Ignored(HorovodFlag flag) ->
                                                        ignore(flag, node, notices);
                                            }
                                        }));
    }

    private static void set(OptionFlag flag, YamlNode node, Map<String, String> variables) {
        try {
            variables.put(flag.option().variable(), flag.value(node.asText()));
        } catch (ConfigurationException e) {
            throw new ConfigurationException(
                    located(node.where(), String.valueOf(e.getMessage())), e);
        }
    }

    /// Whoever asks for nothing gets what was asked for.
    private static void ignore(HorovodFlag flag, YamlNode node, Consumer<String> notices) {
        if (!node.asText().equals("false")) {
            notices.accept(flag.notice(node.where().toString()));
        }
    }

    private static String located(Where where, String message) {
        return message.startsWith(where.file() + ":") ? message : where + ": " + message;
    }

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

    /// What a key stands for.
    private sealed interface Key {
        record Value(OptionFlag flag) implements Key {}

        record Truth(OptionFlag yes, OptionFlag no) implements Key {}

        record Ignored(HorovodFlag flag) implements Key {}
    }

    /// A section that is being declared.
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

        SectionKeys truth(String key, String yes, String no) {
            keys.put(
                    key,
                    new Key.Truth(
                            OptionFlag.named(yes).orElseThrow(),
                            OptionFlag.named(no).orElseThrow()));
            return this;
        }

        SectionKeys ignored(String key, String flag) {
            keys.put(key, new Key.Ignored(HorovodFlag.named(flag).orElseThrow()));
            return this;
        }
    }
}
