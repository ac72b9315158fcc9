package org.horovod4j.launcher.mpi;

import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/// The line that each rank prints before its program starts: its process and host.
///
/// `mpirun` does not report these, and a program may run for long before it joins the others, or
/// never join. A shell prints the line to standard error and then executes the program.
///
/// @param pid its process id
/// @param host the host name, from `uname -n`
record RankStartLine(long pid, String host) {
    private static final String SCRIPT =
            "echo \"horovodrun: started as process $$ on $(uname -n)\" >&2; exec \"$@\"";

    private static final Pattern LINE =
            Pattern.compile(".*horovodrun: started as process (\\d+) on (\\S+)");

    /// The command line of a program, wrapped in the shell that prints the line.
    static List<String> wrap(List<String> program) {
        List<String> words = new ArrayList<>(List.of("sh", "-c", SCRIPT, "sh"));
        words.addAll(program);
        return words;
    }

    /// Parses a line, if it is a start line. An unknown tag may precede it.
    static Optional<RankStartLine> parse(String line) {
        Matcher matcher = LINE.matcher(line);
        return matcher.matches()
                ? Optional.of(new RankStartLine(Long.parseLong(matcher.group(1)), matcher.group(2)))
                : Optional.empty();
    }
}
