package org.horovod4j.option;

import org.jspecify.annotations.Nullable;

import java.nio.file.Path;
import java.util.Optional;

/// The trace of a job.
///
/// @param file what is written from the start on; null for nothing
/// @param dynamic whether the program is expected to start it later
/// @param markCycles whether the start of each negotiation cycle is marked
/// @param allRanks whether all ranks appear in it, or rank 0 alone
/// @param maxBytes how large the file may grow; 0 for no limit
public record TimelineSettings(
        @Nullable Path file, boolean dynamic, boolean markCycles, boolean allRanks, long maxBytes) {
    /// What stands in the place of a file.
    private static final Path DYNAMIC = Path.of("DYNAMIC");

    public TimelineSettings {
        if (maxBytes < 0) {
            throw new IllegalArgumentException("no file has " + maxBytes + " bytes");
        }
    }

    static TimelineSettings from(Environment environment) {
        Optional<Path> timeline = environment.find(RuntimeOptions.TIMELINE);
        return new TimelineSettings(
                timeline.filter(path -> !path.equals(DYNAMIC)).orElse(null),
                timeline.filter(DYNAMIC::equals).isPresent(),
                environment.get(RuntimeOptions.TIMELINE_MARK_CYCLES),
                environment.get(RuntimeOptions.TIMELINE_ALL_RANKS),
                environment.get(RuntimeOptions.TIMELINE_MAX_BYTES));
    }

    /// The same for one generation of an elastic job, each of which has a file of its own from the
    /// second on: rank 0 may be another process by then, and must not write over what was there.
    TimelineSettings forGeneration(int generation) {
        if (file == null || generation == 0) {
            return this;
        }
        String name = String.valueOf(file.getFileName());
        int dot = name.lastIndexOf('.');
        int end = dot < 0 ? name.length() : dot;
        Path own =
                file.resolveSibling(
                        name.substring(0, end) + ".generation-" + generation + name.substring(end));
        return new TimelineSettings(own, dynamic, markCycles, allRanks, maxBytes);
    }
}
