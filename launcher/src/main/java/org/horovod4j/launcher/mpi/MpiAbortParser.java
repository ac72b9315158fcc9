package org.horovod4j.launcher.mpi;

import org.horovod4j.launcher.process.ExitStatus;
import org.jspecify.annotations.Nullable;

import java.util.OptionalInt;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/// Parses the messages of `mpirun` about the process whose failure ended the job, line by line.
///
/// Open MPI names a rank and its exit code or signal. Hydra does not name a rank that exited with a
/// code. After a signal it names a process, but it may have killed that process itself.
final class MpiAbortParser {
    private static final Pattern ABORT_HEADER =
            Pattern.compile("Primary job +terminated normally, but .*|=? +BAD TERMINATION OF .*");
    private static final Pattern RANK = Pattern.compile(" *Process name: \\[\\[\\d+,\\d+],(\\d+)]");
    private static final Pattern CODE = Pattern.compile(" +Exit code: +(\\d+)");
    private static final Pattern SIGNALLED_RANK =
            Pattern.compile(".* process rank (\\d+) with PID \\d+ on node .* on signal (\\d+).*");

    private static final int SIGNALLED = 128;

    private OptionalInt rank = OptionalInt.empty();
    private @Nullable ExitStatus exitStatus;

    /// Reads the next untagged line.
    ///
    /// @return whether the line says that a process has failed
    boolean read(String line) {
        Matcher matcher = RANK.matcher(line);
        if (matcher.matches()) {
            rank = OptionalInt.of(Integer.parseInt(matcher.group(1)));
        } else if (matcher.usePattern(CODE).matches()) {
            exitStatus = new ExitStatus(Integer.parseInt(matcher.group(1)));
        } else if (matcher.usePattern(SIGNALLED_RANK).matches()) {
            rank = OptionalInt.of(Integer.parseInt(matcher.group(1)));
            exitStatus = new ExitStatus(SIGNALLED + Integer.parseInt(matcher.group(2)));
        }
        return ABORT_HEADER.matcher(line).matches();
    }

    /// The rank that failed, if named.
    OptionalInt rank() {
        return rank;
    }

    /// How that rank ended; null if unknown.
    @Nullable ExitStatus ending() {
        return exitStatus;
    }
}
