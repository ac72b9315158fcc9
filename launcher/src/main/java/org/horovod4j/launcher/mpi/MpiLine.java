package org.horovod4j.launcher.mpi;

import org.jspecify.annotations.Nullable;

import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/// A line of output, of a rank or of `mpirun` itself.
///
/// The first line of each rank is its *start line*: its process and host. `mpirun` does not report
/// these, and a program may run for long before it joins the others, or never join. A shell prints
/// the line to standard error and then executes the program.
///
/// @param rank the rank that wrote it, from its tag; null without a tag, as the lines of `mpirun`
/// @param text the text after the tag
record MpiLine(@Nullable Integer rank, String text) {
    /// Open MPI's `[1,0]<stderr>:`, possibly after a timestamp, and Hydra's `[0] `.
    private static final Pattern TAGGED =
            Pattern.compile(
                    "(?:(?:\\w{3} \\w{3} [ \\d]\\d [\\d:]{8} \\d{4})?"
                            + "\\[\\d+,(?<open>\\d{1,9})]<std(?:out|err)>:|\\[(?<hydra>\\d{1,9})] )"
                            + "(?<text>.*)",
                    Pattern.DOTALL);

    private static final String START_SCRIPT =
            "echo \"horovodrun: started as process $$ on $(uname -n)\" >&2; exec \"$@\"";

    private static final Pattern START_LINE =
            Pattern.compile(".*horovodrun: started as process (\\d+) on (\\S+)");

    /// The command line of a program, wrapped in the shell that prints its start line.
    static List<String> withStartLine(List<String> program) {
        List<String> words = new ArrayList<>(List.of("sh", "-c", START_SCRIPT, "sh"));
        words.addAll(program);
        return words;
    }

    static MpiLine parse(String line) {
        Matcher matcher = TAGGED.matcher(line);
        if (!matcher.matches()) {
            return new MpiLine(null, line);
        }
        String open = matcher.group("open");
        return new MpiLine(
                Integer.valueOf(open == null ? matcher.group("hydra") : open),
                matcher.group("text"));
    }

    /// Where the rank runs, as in "on gpu1 (process 4)", if this is a start line. An unknown tag may
    /// precede it.
    Optional<String> place() {
        Matcher matcher = START_LINE.matcher(text);
        return matcher.matches()
                ? Optional.of("on %s (process %s)".formatted(matcher.group(2), matcher.group(1)))
                : Optional.empty();
    }
}
