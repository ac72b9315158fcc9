package org.horovod4j.launcher.mpi;

import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/// A line of output that `mpirun` has marked with the rank that wrote it.
///
/// @param rank who wrote it
/// @param text what stands behind the mark
record TaggedLine(int rank, String text) {
    /// Open MPI's `[1,0]<stderr>:`, perhaps after the time, and Hydra's `[0] `.
    private static final Pattern TAGGED =
            Pattern.compile(
                    "(?:(?:\\w{3} \\w{3} [ \\d]\\d [\\d:]{8} \\d{4})?"
                            + "\\[\\d+,(?<open>\\d{1,9})]<std(?:out|err)>:|\\[(?<hydra>\\d{1,9})] )"
                            + "(?<text>.*)",
                    Pattern.DOTALL);

    /// Reads a line; what `mpirun` says itself has no mark.
    static Optional<TaggedLine> parse(String line) {
        Matcher marked = TAGGED.matcher(line);
        if (!marked.matches()) {
            return Optional.empty();
        }
        String open = marked.group("open");
        return Optional.of(
                new TaggedLine(
                        Integer.parseInt(open == null ? marked.group("hydra") : open),
                        marked.group("text")));
    }
}
