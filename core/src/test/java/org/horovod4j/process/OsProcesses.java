package org.horovod4j.process;

import static java.nio.charset.StandardCharsets.ISO_8859_1;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;

/// What runs on this machine, as `/proc` tells it.
final class OsProcesses {
    private OsProcesses() {}

    /// All processes that have this variable with this value: `NAME=value`.
    static List<Long> withVariable(String variable) {
        return ProcessHandle.allProcesses()
                .map(ProcessHandle::pid)
                .filter(pid -> read(Path.of("/proc", pid.toString(), "environ")).contains(variable))
                .toList();
    }

    static void signal(String name, long pid) throws IOException {
        runToSuccess("kill", "-s", name, Long.toString(pid));
    }

    /// Runs a command to its end.
    ///
    /// @throws IOException when it does not end well
    static void runToSuccess(String... command) throws IOException {
        int code = new ProcessBuilder(command).start().onExit().join().exitValue();
        if (code != 0) {
            throw new IOException(String.join(" ", command) + ": exit code " + code);
        }
    }

    /// Empty for a process that has ended in the meantime, or is another user's.
    private static String read(Path file) {
        try {
            return Files.readString(file, ISO_8859_1);
        } catch (IOException e) {
            return "";
        }
    }
}
