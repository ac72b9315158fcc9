package org.horovod4j.launcher.process;

import java.util.List;

/// How a process ended.
///
/// @param status as a shell and `Process` give it: the exit code, or 128 and the number of a signal
public record ExitStatus(int status) {
    /// Signals 1 to 31 by their numbers on Linux.
    private static final List<String> SIGNALS =
            List.of(
                    "HUP", "INT", "QUIT", "ILL", "TRAP", "ABRT", "BUS", "FPE", "KILL", "USR1",
                    "SEGV", "USR2", "PIPE", "ALRM", "TERM", "STKFLT", "CHLD", "CONT", "STOP",
                    "TSTP", "TTIN", "TTOU", "URG", "XCPU", "XFSZ", "VTALRM", "PROF", "WINCH", "IO",
                    "PWR", "SYS");

    private static final int SIGNAL_OFFSET = 128;

    public boolean failed() {
        return status != 0;
    }

    @Override
    public String toString() {
        int signal = status - SIGNAL_OFFSET;
        return signal >= 1 && signal <= SIGNALS.size()
                ? "killed by signal %d (SIG%s)".formatted(signal, SIGNALS.get(signal - 1))
                : "exit code " + status;
    }
}
