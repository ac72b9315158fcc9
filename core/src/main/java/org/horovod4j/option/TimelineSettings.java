package org.horovod4j.option;

import org.jspecify.annotations.Nullable;

import java.nio.file.Path;
import java.util.Optional;

/// The timeline of a job.
///
/// @param file written from the start on; null for none
/// @param dynamic whether the program may start the timeline later
/// @param markCycles whether the start of each negotiation cycle is marked
/// @param allRanks whether all ranks are recorded, or only rank 0
/// @param maxBytes the size at which writing stops; 0 for no limit
public record TimelineSettings(
        @Nullable Path file, boolean dynamic, boolean markCycles, boolean allRanks, long maxBytes) {
    /// The value in place of a file.
    private static final Path DYNAMIC = Path.of("DYNAMIC");

    public TimelineSettings {
        if (maxBytes < 0) {
            throw new IllegalArgumentException(
                    "the size of the timeline must not be negative, but is " + maxBytes);
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

    /// The same for one generation of an elastic job. From the second on, each generation has its
    /// own file: rank 0 may be another process, and must not overwrite the file.
    TimelineSettings forGeneration(int generation) {
        if (file == null || generation == 0) {
            return this;
        }
        String name = String.valueOf(file.getFileName());
        int dot = name.lastIndexOf('.');
        int end = dot < 0 ? name.length() : dot;
        Path generationFile =
                file.resolveSibling(
                        name.substring(0, end) + ".generation-" + generation + name.substring(end));
        return new TimelineSettings(generationFile, dynamic, markCycles, allRanks, maxBytes);
    }
}
