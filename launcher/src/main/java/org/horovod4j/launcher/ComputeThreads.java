package org.horovod4j.launcher;

import org.horovod4j.text.MessageText;

import java.util.Map;
import java.util.function.ToIntFunction;

/// The number of threads with which the framework of a rank computes: the processors of its host,
/// divided by its ranks. By default each rank of a host would use all processors.
///
/// @param processors of a host that is ready
/// @param isSet whether the user has set the number
record ComputeThreads(ToIntFunction<String> processors, boolean isSet) {
    /// OpenMP reads it, and so do PyTorch, MXNet and MKL.
    static final String VARIABLE = "OMP_NUM_THREADS";

    /// @param environment of the processes, as the user has set it
    static ComputeThreads of(ToIntFunction<String> processors, Map<String, String> environment) {
        return new ComputeThreads(processors, environment.containsKey(VARIABLE));
    }

    /// The variables of a process.
    ///
    /// @param ranks how many processes its host has
    Map<String, String> variables(String host, int ranks) {
        return isSet ? Map.of() : Map.of(VARIABLE, Integer.toString(threads(host, ranks)));
    }

    private int threads(String host, int ranks) {
        return Math.max(1, processors.applyAsInt(host) / ranks);
    }

    /// The message for `--verbose`.
    String description(String host, int ranks) {
        return isSet
                ? "%s is left as it is on %s".formatted(VARIABLE, host)
                : "%s is %d on %s: it has %s and %s"
                        .formatted(
                                VARIABLE,
                                threads(host, ranks),
                                host,
                                MessageText.count(processors.applyAsInt(host), "processor"),
                                MessageText.count(ranks, "rank"));
    }
}
