package org.horovod4j.launcher.output;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;

/// Tells whether a stream of this process is a terminal.
///
/// `System.console()` checks standard input and output together and loads a line editor. `/proc` on
/// Linux shows each stream separately.
final class Terminal {
    private Terminal() {}

    /// Whether standard error is a terminal that supports escape sequences.
    static boolean isStderrTerminal() {
        String type = System.getenv("TERM");
        return type != null && !type.equals("dumb") && isTerminal(Path.of("/proc/self/fd/2"));
    }

    /// Whether a link in `/proc/<process>/fd` points to a terminal.
    static boolean isTerminal(Path link) {
        try {
            Path device = Files.readSymbolicLink(link);
            return device.startsWith("/dev/pts")
                    || (device.startsWith("/dev")
                            && device.getFileName().toString().startsWith("tty"));
        } catch (IOException e) {
            return false; // not Linux: no status line is shown
        }
    }
}
