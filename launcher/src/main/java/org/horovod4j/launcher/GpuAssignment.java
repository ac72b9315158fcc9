package org.horovod4j.launcher;

import org.horovod4j.ConfigurationException;
import org.horovod4j.option.Environment;
import org.horovod4j.option.Options;
import org.horovod4j.text.MessageText;

import java.util.List;
import java.util.Map;
import java.util.function.ToIntFunction;
import java.util.stream.IntStream;
import java.util.stream.Stream;

/// The GPUs that each rank of a host sees, for `--gpus-per-rank`.
///
/// @param gpus of a host that is ready
/// @param listed the GPUs that the user lets the job use, on each host; empty for all
/// @param perRank 0 if ranks see the same GPUs
record GpuAssignment(ToIntFunction<String> gpus, List<String> listed, int perRank) {
    /// Libraries of CUDA number the GPUs in this list from 0 and see no others.
    static final String VARIABLE = "CUDA_VISIBLE_DEVICES";

    /// @param environment of the processes, as the user has set it
    static GpuAssignment of(ToIntFunction<String> gpus, Map<String, String> environment) {
        return new GpuAssignment(
                gpus,
                Stream.of(environment.getOrDefault(VARIABLE, "").split(","))
                        .map(String::strip)
                        .filter(name -> !name.isEmpty())
                        .toList(),
                new Environment(environment).find(Options.GPUS_PER_RANK).orElse(0));
    }

    /// @throws ConfigurationException when a host has too few GPUs for its ranks
    void check(String host, int ranks) {
        int needed = ranks * perRank;
        int found = listed.isEmpty() ? gpus.applyAsInt(host) : listed.size();
        if (found < needed) {
            throw new ConfigurationException(
                    """
                    %s has %s%s, but its %s with --gpus-per-rank %d need %d.
                    Start fewer ranks there, ask for fewer GPUs per rank, or leave --gpus-per-rank out."""
                            .formatted(
                                    host,
                                    MessageText.count(found, "NVIDIA GPU"),
                                    listed.isEmpty() ? "" : " in " + VARIABLE,
                                    MessageText.count(ranks, "rank"),
                                    perRank,
                                    needed));
        }
    }

    /// The variables of a process.
    ///
    /// @param position of the process among those of its host
    Map<String, String> variables(int position) {
        if (perRank == 0) {
            return listed.isEmpty() ? Map.of() : Map.of(Options.GPUS_PER_RANK.variable(), "0");
        }
        List<String> own =
                IntStream.range(position * perRank, (position + 1) * perRank)
                        .mapToObj(i -> listed.isEmpty() ? Integer.toString(i) : listed.get(i))
                        .toList();
        return Map.of(VARIABLE, String.join(",", own));
    }
}
