package org.horovod4j.launcher.mpi;

import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/// What each rank says before its program begins: that it is there, where, and as which process.
///
/// `mpirun` tells nothing of that, and a program may run for long before it meets the others, or
/// never do so. A shell says it on standard error and then becomes the program.
///
/// @param pid the number of its process
/// @param host as the host calls itself
record RankStartLine(long pid, String host) {
    private static final String SCRIPT =
            "echo \"horovodrun: started as process $$ on $(uname -n)\" >&2; exec \"$@\"";

    private static final Pattern LINE =
            Pattern.compile(".*horovodrun: started as process (\\d+) on (\\S+)");

    /// The words of a program with those of its herald before them.
    static List<String> wrap(List<String> program) {
        List<String> words = new ArrayList<>(List.of("sh", "-c", SCRIPT, "sh"));
        words.addAll(program);
        return words;
    }

    /// What a line says, if it is a herald's; a mark that we do not know may stand before it.
    static Optional<RankStartLine> parse(String line) {
        Matcher said = LINE.matcher(line);
        return said.matches()
                ? Optional.of(new RankStartLine(Long.parseLong(said.group(1)), said.group(2)))
                : Optional.empty();
    }
}
