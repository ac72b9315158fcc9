package org.horovod4j.launcher.mpi;

import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/// A line of output that `mpirun` has tagged with its rank.
///
/// @param rank the rank that wrote it
/// @param text the text after the tag
record TaggedLine(int rank, String text) {
    /// Open MPI's `[1,0]<stderr>:`, possibly after a timestamp, and Hydra's `[0] `.
    private static final Pattern TAGGED =
            Pattern.compile(
                    "(?:(?:\\w{3} \\w{3} [ \\d]\\d [\\d:]{8} \\d{4})?"
                            + "\\[\\d+,(?<open>\\d{1,9})]<std(?:out|err)>:|\\[(?<hydra>\\d{1,9})] )"
                            + "(?<text>.*)",
                    Pattern.DOTALL);

    /// Parses a line. The messages of `mpirun` itself have no tag.
    static Optional<TaggedLine> parse(String line) {
        Matcher matcher = TAGGED.matcher(line);
        if (!matcher.matches()) {
            return Optional.empty();
        }
        String open = matcher.group("open");
        return Optional.of(
                new TaggedLine(
                        Integer.parseInt(open == null ? matcher.group("hydra") : open),
                        matcher.group("text")));
    }
}
