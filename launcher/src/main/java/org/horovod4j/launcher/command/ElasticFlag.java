package org.horovod4j.launcher.command;

import org.horovod4j.ConfigurationException;

import java.util.List;

/// A flag for jobs that grow and shrink while they run, which this version has not yet.
///
/// @param words its spellings
/// @param values how many values follow
record ElasticFlag(List<String> words, int values) {
    static final List<ElasticFlag> ALL =
            List.of(
                    new ElasticFlag(List.of("--min-np", "--min-num-proc"), 1),
                    new ElasticFlag(List.of("--max-np", "--max-num-proc"), 1),
                    new ElasticFlag(List.of("--slots-per-host"), 1),
                    new ElasticFlag(List.of("--elastic-timeout"), 1),
                    new ElasticFlag(List.of("--reset-limit"), 1),
                    new ElasticFlag(List.of("--blacklist-cooldown-range"), 2),
                    new ElasticFlag(List.of("--host-discovery-script"), 1));

    ElasticFlag {
        words = List.copyOf(words);
    }

    /// Refuses it: a job that cannot grow is not what the user counts on.
    ConfigurationException refusal() {
        return new ConfigurationException(
                "%s: elastic training comes in a later version. Give -np and -H or --hostfile instead."
                        .formatted(words.getFirst()));
    }
}
