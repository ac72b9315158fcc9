package org.horovod4j.launcher.driver;

import java.util.List;
import java.util.stream.Collectors;

/// A process of a job. In an elastic job its rank changes from generation to generation, its number
/// does not.
///
/// @param number in a fixed job the rank; in an elastic job it increases with each start, so the
///     lowest is the oldest
/// @param host the name of its host
/// @param slot its index among the slots of that host; no two live workers share one
public record Worker(int number, String host, int slot) {
    /// As in "workers 2, 3".
    static String numbers(String noun, List<Worker> workers) {
        return workers.stream()
                .map(worker -> Integer.toString(worker.number))
                .collect(Collectors.joining(", ", noun + (workers.size() == 1 ? " " : "s "), ""));
    }

    @Override
    public String toString() {
        return "worker %d on %s".formatted(number, host);
    }
}
