package org.horovod4j.launcher.output;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;

/// Asks whether somebody is watching.
///
/// `System.console()` tells of standard input and output together, and loads a line editor to do
/// so; Linux tells of each stream what it leads to.
final class Terminal {
    private Terminal() {}

    /// Whether standard error is a terminal that knows escape sequences.
    static boolean isStderrTerminal() {
        String type = System.getenv("TERM");
        return type != null && !type.equals("dumb") && isTerminal(Path.of("/proc/self/fd/2"));
    }

    /// Whether a link of `/proc/<process>/fd` leads to a terminal.
    static boolean isTerminal(Path link) {
        try {
            Path device = Files.readSymbolicLink(link);
            return device.startsWith("/dev/pts")
                    || (device.startsWith("/dev")
                            && device.getFileName().toString().startsWith("tty"));
        } catch (IOException e) {
            return false; // not Linux: nothing is shown, and nothing is missed
        }
    }
}
